"""Saves the model of minicheck-t5 again, as transformers 5 does, and computes with it. The tensors are the same, so that
the folder minicheck-t5-again has none; its configuration and its tokenizer's files have another form.

    python t5_again.py     needs torch, transformers 5, tokenizers, safetensors; no network
"""
import json
import shutil
import tempfile
from pathlib import Path

import torch
from make import HERE, PAIRS, numbers, write
from safetensors.torch import load_file, save_file
from t5 import LIMIT, MINICHECK, NAMES, change
from transformers import AutoTokenizer, T5ForConditionalGeneration

OWN = HERE / "minicheck-t5"
WEIGHTS = "model.safetensors"


def published(folder):
    """The folder as transformers 4 wrote it, with the tokenizer's class that Flan-T5 names."""
    for name in (WEIGHTS, "config.json", "tokenizer.json"):
        shutil.copy(OWN / name, folder / name)
    config = json.loads((folder / "config.json").read_text())
    del config["scale_decoder_outputs"]
    assert config["tie_word_embeddings"] is False
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = dict(tokenizer_class="T5Tokenizer", extra_ids=5, model_max_length=LIMIT, **NAMES)
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))


def saved_again(published, folder):
    T5ForConditionalGeneration.from_pretrained(published).save_pretrained(folder)
    AutoTokenizer.from_pretrained(published).save_pretrained(folder)
    own, again = load_file(OWN / WEIGHTS), load_file(folder / WEIGHTS)
    assert own.keys() == again.keys() and all(torch.equal(own[name].float(), again[name]) for name in own)


@torch.inference_mode()
def judged(folder):
    """Ids and logits of every pair."""
    model, tokenizer = T5ForConditionalGeneration.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    words = [tokenizer(word)["input_ids"][0] for word in "01"]
    start = torch.zeros((1, 1), dtype=torch.long)
    rows = []
    for first, second in PAIRS:
        text = MINICHECK.replace("{premise}", first).replace("{hypothesis}", second)
        encoded = tokenizer(text, return_tensors="pt")
        assert encoded["input_ids"].shape[1] <= LIMIT
        logits = model(**encoded, decoder_input_ids=start).logits[0, 0, words]
        rows.append(dict(first=first, second=second, ids=encoded["input_ids"][0].tolist(), logits=numbers(logits)))
    return rows


def main():
    with tempfile.TemporaryDirectory() as temporary:
        before, again = Path(temporary) / "before", Path(temporary) / "again"
        before.mkdir()
        published(before)
        saved_again(before, again)
        folder = HERE / "minicheck-t5-again"
        folder.mkdir(exist_ok=True)
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            shutil.copy(again / name, folder / name)
        expected = dict(pairs=judged(again))
        # A model whose output is its embedding, as one has that transformers 5 began. Its default scales what that reads.
        weights = load_file(again / WEIGHTS)
        del weights["lm_head.weight"]
        save_file(weights, again / WEIGHTS, {"format": "pt"})
        expected["tied"] = [row["logits"] for row in judged(again)]
        change(again / "config.json", scale_decoder_outputs=True)
        expected["tied_and_scaled"] = [row["logits"] for row in judged(again)]
        write(folder, expected)


if __name__ == "__main__":
    main()
