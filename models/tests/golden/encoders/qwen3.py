"""Makes the folders of Qwen3-Embedding and Qwen3-Reranker beside this file: tiny random models, and what transformers
computes with them.

    python qwen3.py           needs what make.py needs
"""
import json

import torch
from make import CORPUS, HERE, PAIRS, TEXTS, fast, kept, numbers, save, write
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import Qwen3Config, Qwen3ForCausalLM, Qwen3Model

TASK = "Given a web search query, retrieve relevant passages that answer the query"
QUERY = f"Instruct: {TASK}\nQuery:"
PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
NAMES = dict(eos_token="<|im_end|>", pad_token="<|endoftext|>")
LIMIT = 80
CONTEXT = 512


def byte_pairs():
    """As Qwen3 has it: bytes, control tokens, and markers that are not special."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    prompts = [QUERY, PREFIX.replace("<|im_start|>", "").replace("<|im_end|>", ""), "system user assistant"]
    tokenizer.train_from_iterator(CORPUS + prompts * 4 + ["yes", "no"] * 9, trainer)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("<think>", "</think>")])
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False)
    return tokenizer


def closed(tokenizer):
    """With a token behind every text, as Qwen3-Embedding's tokenizer has it."""
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    end = "<|endoftext|>"
    ends = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A {end} $B:1 {end}:1", special_tokens=[(end, tokenizer.token_to_id(end))]
    )
    bytes_alone = processors.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.post_processor = processors.Sequence([bytes_alone, ends])
    return tokenizer


def shape(tokenizer, **others):
    return Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        intermediate_size=96,
        max_position_embeddings=CONTEXT,
        initializer_range=0.2,
        rope_theta=1e6,
        eos_token_id=tokenizer.token_to_id("<|im_end|>"),
        **others,
    )


def with_norms(model):
    """Norms that training would have moved away from one."""
    torch.manual_seed(6)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "norm" in name:
                value.copy_(1 + 0.3 * torch.randn_like(value))
    return model.eval()


@torch.inference_mode()
def embedding(name, model, tokenizer):
    """As sentence-transformers do it with pooling by the last token, one text at a time."""
    folder = HERE / name
    save(folder, with_norms(model), torch.bfloat16)
    wrapped = fast(folder, tokenizer, NAMES, LIMIT)
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    modules = [
        dict(idx=i, name=str(i), path=path, type=f"sentence_transformers.models.{kind}")
        for i, (kind, path) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules, indent=1) + "\n")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    pooling = {f"pooling_mode_{mode}": mode == "lasttoken" for mode in modes}
    pooling = dict(word_embedding_dimension=64, **pooling, include_prompt=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling, indent=1) + "\n")
    prompts = dict(prompts=dict(query=QUERY, document=""), default_prompt_name=None, similarity_fn_name="cosine")
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts, indent=1) + "\n")
    rows = []
    for text in TEXTS + [QUERY + text for text in TEXTS[:2]]:
        encoded = wrapped(text, truncation=True, return_tensors="pt")
        state = model(input_ids=encoded["input_ids"]).last_hidden_state[0, -1]
        vector = torch.nn.functional.normalize(state, dim=0)
        rows.append(dict(text=text, ids=encoded["input_ids"][0].tolist(), vector=numbers(vector)))
    write(folder, dict(texts=rows))


@torch.inference_mode()
def reranker(name, model, tokenizer):
    """As the model's card does it, one pair at a time: the log of the odds of yes against no. `tied` is the same with the
    embedding as output layer."""
    folder = HERE / name
    save(folder, with_norms(model), torch.bfloat16)
    wrapped = fast(folder, tokenizer, NAMES, CONTEXT)
    before, behind = (wrapped.encode(text, add_special_tokens=False) for text in (PREFIX, SUFFIX))
    answers = [wrapped.convert_tokens_to_ids(text) for text in ("no", "yes")]
    assert None not in answers
    room = CONTEXT - len(before) - len(behind)
    rows = []
    for first, second in PAIRS + [["Which bridge was closed?", "The bridge of the city was closed. " * 60]]:
        text = f"<Instruct>: {TASK}\n<Query>: {first}\n<Document>: {second}"
        middle = wrapped(text, truncation=True, max_length=room, add_special_tokens=False)["input_ids"]
        ids = before + middle + behind
        state = model.model(torch.tensor([ids])).last_hidden_state[0, -1]
        own, tied = (state @ matrix.T for matrix in (model.lm_head.weight, model.model.embed_tokens.weight))
        assert torch.equal(own.argmax(), model(torch.tensor([ids])).logits[0, -1].argmax())
        odds = [torch.softmax(logits[answers], 0)[1].logit() for logits in (own, tied)]
        rows.append(dict(first=first, second=second, ids=ids, logits=numbers(odds[0]), tied=numbers(odds[1])))
    write(folder, dict(pairs=rows))


def main():
    torch.manual_seed(8)
    tokenizer = kept("qwen3-reranker", byte_pairs)
    reranker("qwen3-reranker", Qwen3ForCausalLM(shape(tokenizer, tie_word_embeddings=False)), tokenizer)
    embedding("qwen3-embedding", Qwen3Model(shape(tokenizer)), closed(tokenizer))


if __name__ == "__main__":
    main()
