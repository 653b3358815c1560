"""Makes the folders of MiniCheck, HHEM and MPNet beside this file: tiny random models of T5 (encoder and decoder, encoder
alone) and of MPNet, and what transformers computes with them.

    python t5.py           needs what make.py needs
"""
import json

import torch
from make import HERE, LABELS, PAIRS, SHAPE, charsmap, classifier, embedding, fast, kept, numbers, pieces, save, write
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, processors
from transformers import (
    MPNetConfig,
    MPNetForSequenceClassification,
    MPNetModel,
    T5Config,
    T5ForConditionalGeneration,
    T5ForTokenClassification,
)
from transformers.models.t5.modeling_t5 import T5Attention

NAMES = dict(eos_token="</s>", unk_token="<unk>", pad_token="<pad>")
MINICHECK = "predict: {premise}</s>{hypothesis}"
HHEM = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {text1}\n\nHypothesis: {text2}"
LIMIT = 400
# Heads of another width than the hidden one divided by their number; distances beyond the last bucket.
T5 = dict(
    d_model=32,
    d_kv=16,
    d_ff=48,
    num_layers=2,
    num_heads=3,
    relative_attention_num_buckets=16,
    relative_attention_max_distance=40,
    feed_forward_proj="gated-gelu",
    dropout_rate=0.0,
    decoder_start_token_id=0,
    pad_token_id=0,
    eos_token_id=1,
)
WORDS = "predict : Determine if the hypothesis is true given the premise ? Premise: Hypothesis: 0 1 2"


def sentences():
    """Unigrams with one token behind every text, as T5's tokenizer has."""
    # T5's own table makes a space of a line's end too.
    table = charsmap("A\t20\nFF21\t41\n")
    tokenizer = pieces(["<pad>", "</s>", "<unk>"], ("</s>", "</s>", "</s>"), table, [WORDS] * 3)
    ends = [("</s>", tokenizer.token_to_id("</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=ends
    )
    return tokenizer


def larger(model):
    """With numbers large enough to matter: T5's own are small where heads are few."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "layer_norm" in name:
                value.copy_(1 + 0.3 * torch.randn_like(value))
            elif "relative_attention_bias" in name:
                value.copy_(torch.randn_like(value))
            else:
                value.copy_(0.3 * torch.randn_like(value))
            value.copy_(value.half().float())
    return model


@torch.inference_mode()
def judged(folder, wrapped, written, logits):
    rows = []
    for first, second in PAIRS:
        text = written.replace("{premise}", first).replace("{hypothesis}", second)
        text = text.replace("{text1}", first).replace("{text2}", second)
        encoded = wrapped(text, return_tensors="pt")
        assert encoded["input_ids"].shape[1] <= LIMIT
        ids = encoded["input_ids"][0].tolist()
        rows.append(dict(first=first, second=second, ids=ids, logits=numbers(logits(encoded))))
    write(folder, dict(pairs=rows))


def change(path, **fields):
    config = json.loads(path.read_text())
    config.update(fields)
    path.write_text(json.dumps(config, indent=2) + "\n")


def minicheck(tokenizer):
    folder = HERE / "minicheck-t5"
    config = T5Config(**T5, vocab_size=tokenizer.get_vocab_size() + 5, num_decoder_layers=2, tie_word_embeddings=False)
    model = larger(T5ForConditionalGeneration(config))
    # transformers 5 makes one tensor of the output and the embedding; Flan-T5's files have two.
    output = (0.3 * torch.randn_like(model.lm_head.weight)).half()
    model.lm_head.weight = torch.nn.Parameter(output.float())
    save(folder, model, torch.float16)
    path = folder / "model.safetensors"
    save_file({**load_file(path), "lm_head.weight": output}, path, {"format": "pt"})
    change(folder / "config.json", tie_word_embeddings=False)
    wrapped = fast(folder, tokenizer, NAMES, LIMIT)
    words = [wrapped(word)["input_ids"][0] for word in "01"]
    assert words[0] != words[1]

    def logits(encoded):
        start = torch.zeros((1, 1), dtype=torch.long)
        return model(**encoded, decoder_input_ids=start).logits[0, 0, words]

    judged(folder, wrapped, MINICHECK, logits)


def hhem(tokenizer):
    folder = HERE / "hhem"
    config = T5Config(**T5, vocab_size=tokenizer.get_vocab_size() + 5, num_labels=2)
    model = larger(T5ForTokenClassification(config))
    save(folder, model, torch.float16)
    # As the published file has them.
    path = folder / "model.safetensors"
    save_file({f"t5.{name}": tensor for name, tensor in load_file(path).items()}, path, {"format": "pt"})
    labels = {"0": "hallucinated", "1": "consistent"}
    change(folder / "config.json", model_type="HHEMv2Config", prompt=HHEM, id2label=labels, n_positions=LIMIT)
    wrapped = fast(folder, tokenizer, NAMES, LIMIT)
    judged(folder, wrapped, HHEM, lambda encoded: model(**encoded).logits[0, 0])


def mpnet():
    names = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", unk_token="<unk>")
    names.update(pad_token="<pad>", mask_token="<mask>")
    tokenizer = kept("xlm-roberta", None)
    shape = dict(SHAPE, vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=130, layer_norm_eps=1e-5)
    shape.update(pad_token_id=1, bos_token_id=0, eos_token_id=2, relative_attention_num_buckets=32)

    def biased(model):
        with torch.no_grad():
            for name, value in model.named_parameters():
                if "relative_attention_bias" in name:
                    value.copy_(torch.randn_like(value))
        return model

    model = biased(MPNetModel(MPNetConfig(**shape), add_pooling_layer=False))
    embedding("mpnet", model, tokenizer, names, "mean", True, 128)
    model = biased(MPNetForSequenceClassification(MPNetConfig(**shape, **LABELS)))
    model.config.type_vocab_size = 0
    classifier("mpnet-nli", model, tokenizer, names, 128)


def buckets():
    """Buckets of distances as T5 and MPNet have them, at their published sizes."""
    distances = torch.arange(-600, 601)
    return [int(x) for x in T5Attention._relative_position_bucket(distances, True, 32, 128)]


def main():
    torch.manual_seed(21)
    path = HERE / "minicheck-t5" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path)) if path.exists() else sentences()
    minicheck(tokenizer)
    hhem(tokenizer)
    mpnet()
    (HERE / "t5-buckets.json").write_text(json.dumps(buckets()) + "\n")


if __name__ == "__main__":
    main()
