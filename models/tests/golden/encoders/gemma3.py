"""Makes the folder of EmbeddingGemma beside this file: a tiny random Gemma 3 that attends in both directions, with two
layers behind its pooling, and what transformers computes with it.

    python gemma3.py           needs what make.py needs
"""
import json

import torch
from make import HERE, TEXTS, fast, kept, numbers, save, write
from qwen3 import byte_pairs, with_norms
from safetensors.torch import save_file
from tokenizers import Tokenizer, processors
from transformers import Gemma3TextConfig, Gemma3TextModel

QUERY, PASSAGE = "task: search result | query: ", "title: none | text: "
NAMES = dict(bos_token="<|im_start|>", eos_token="<|im_end|>", pad_token="<|endoftext|>")
LIMIT, CONTEXT, HIDDEN, INNER = 80, 128, 64, 96
# A window of 12 counts both sides together: six positions before a token and six behind it.
WINDOW = 12


def ended(tokenizer):
    """With a token on both ends of a text."""
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    begin, end = "<|im_start|>", "<|im_end|>"
    special = [(token, tokenizer.token_to_id(token)) for token in (begin, end)]
    ends = processors.TemplateProcessing(
        single=f"{begin} $A {end}", pair=f"{begin} $A {end} {begin}:1 $B:1 {end}:1", special_tokens=special
    )
    bytes_alone = processors.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.post_processor = processors.Sequence([bytes_alone, ends])
    return tokenizer


def dense(folder, inputs, outputs):
    """A layer as sentence-transformers write it."""
    folder.mkdir(exist_ok=True)
    config = dict(
        in_features=inputs, out_features=outputs, bias=False, activation_function="torch.nn.modules.linear.Identity"
    )
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    weight = torch.randn(outputs, inputs) / inputs**0.5
    save_file({"linear.weight": weight}, folder / "model.safetensors")
    return weight


@torch.inference_mode()
def main():
    torch.manual_seed(12)
    tokenizer = ended(kept("qwen3-reranker", byte_pairs))
    config = Gemma3TextConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=HIDDEN,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        query_pre_attn_scalar=48,
        intermediate_size=96,
        max_position_embeddings=CONTEXT,
        sliding_window=WINDOW,
        sliding_window_pattern=3,
        use_bidirectional_attention=True,
        initializer_range=0.2,
        eos_token_id=tokenizer.token_to_id("<|im_end|>"),
    )
    model = with_norms(Gemma3TextModel(config))
    for name, value in model.named_parameters():
        if "norm" in name:
            # Its norms add one themselves.
            value.sub_(1)
    folder = HERE / "gemma3-embedding"
    save(folder, model, torch.bfloat16)
    wrapped = fast(folder, tokenizer, NAMES, LIMIT)
    layers = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"), ("Dense", "3_Dense"), ("Normalize", "4_Normalize")]
    modules = [
        dict(idx=i, name=str(i), path=path, type=f"sentence_transformers.models.{kind}")
        for i, (kind, path) in enumerate(layers)
    ]
    (folder / "modules.json").write_text(json.dumps(modules, indent=1) + "\n")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = dict(word_embedding_dimension=HIDDEN, pooling_mode_mean_tokens=True, include_prompt=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling, indent=1) + "\n")
    prompts = dict(query=QUERY, document=PASSAGE)
    prompts = dict(prompts=prompts, default_prompt_name=None, similarity_fn_name="cosine")
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts, indent=1) + "\n")
    first, second = dense(folder / "2_Dense", HIDDEN, INNER), dense(folder / "3_Dense", INNER, 48)
    rows = []
    for text in TEXTS + [QUERY + text for text in TEXTS[:2]] + [PASSAGE + text for text in TEXTS[:2]]:
        encoded = wrapped(text, truncation=True, return_tensors="pt")
        states = model(input_ids=encoded["input_ids"]).last_hidden_state[0]
        vector = torch.nn.functional.normalize(states.mean(0) @ first.T @ second.T, dim=0)
        rows.append(dict(text=text, ids=encoded["input_ids"][0].tolist(), vector=numbers(vector)))
    assert max(len(row["ids"]) for row in rows) > 2 * WINDOW
    write(folder, dict(texts=rows))


if __name__ == "__main__":
    main()
