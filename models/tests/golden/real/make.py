"""Ask Hugging Face transformers what the three real GGUF files say: loss on real text, greedy continuations.

    python make.py [FOLDER] [ALIAS...]     # FOLDER holds the .gguf files; default ~/.cache/moot/models
                                           # needs torch, transformers, accelerate, gguf, tokenizers; ~14 GB RAM

Writes `<alias>.json` beside this file. The weights are dequantised by transformers' GGUF loader to f32 and the
model runs in f32 with eager attention, on the CPU. Before a number is written the loaded model is compared with
the file: every tensor (the q and k rows of `llama` put back from pairs to halves), rope base, epsilon, tying.

Loss: the first 4,001 tokens of text.txt (no token added), in 8 windows. Window k is ids[500k .. 500k + 500], run
from an empty cache; its row i is scored against ids[500k + i + 1]. The loss is the mean over the 4,000 rows of
-ln softmax(row)[next], in nats, the softmax in f64.

Greedy: 20 tokens after each of 20 prompts, by the largest logit, not stopped by an end token. `gaps` holds for each
step the largest logit less the second; a reader with another order of sums may differ where the gap is tiny.

The token ids are in the output, so nothing that reads it hangs on a tokeniser. The one here is built from the GGUF's
vocabulary, because transformers' reading of a qwen2 GGUF (5.23) leaves out the NFC step of the published tokenizer.
"""

import hashlib
import json
import sys
import time
import unicodedata
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

HERE = Path(__file__).parent
FILES = {
    "smollm2-135m": "SmolLM2-135M-Instruct.Q4_1.gguf",
    "qwen2.5-coder-0.5b": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "qwen2.5-coder-1.5b": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
}
WINDOW, WINDOWS, GREEDY = 500, 8, 20

RAW = [
    "The capital of France is",
    "Once upon a time, in a village by the sea,",
    "def fibonacci(n):\n    ",
    "Water boils at 100 degrees Celsius, which is",
    "1, 2, 4, 8, 16,",
    "fn main() {\n    let words = vec![\"moot\", \"court\"];\n",
    "La Révolution française a commencé en",
    "Столица России —",
    "光合作用是植物",
    "{\"name\": \"Ada\", \"born\": 1815, \"field\":",
    "SELECT name, COUNT(*) FROM visits WHERE",
    "Q: What is 17 + 25?\nA:",
]
SYSTEM = {"role": "system", "content": "Answer in one short sentence."}
CHATS = [
    [{"role": "user", "content": "Hello!"}],
    [{"role": "user", "content": "Name three rivers in Europe."}],
    [SYSTEM, {"role": "user", "content": "Why is the sky blue?"}],
    [SYSTEM, {"role": "user", "content": "Wie viele Tage hat ein Jahr?"}],
    [{"role": "user", "content": "Write a Python function that reverses a string."}],
    [
        {"role": "user", "content": "I have 3 apples and buy 4 more."},
        {"role": "assistant", "content": "You now have 7 apples."},
        {"role": "user", "content": "I eat 2. How many are left?"},
    ],
    [
        SYSTEM,
        {
            "role": "user",
            "content": "Document 1: The Arden bridge opened in 1932.\nDocument 2: The Arden bridge opened in 1934.\n\n"
            "When did the Arden bridge open?",
        },
    ],
    [{"role": "user", "content": "请用一句话介绍长城。"}],
]

QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def field(reader, name):
    return reader.fields[name].contents()


def tokenizer_of(reader):
    """The GGUF's vocabulary as a tokeniser, with its chat template."""
    tokens = field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ")) for merge in field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({token: id for id, token in enumerate(tokens)}, merges))
    byte_level = pre_tokenizers.ByteLevel
    match field(reader, "tokenizer.ggml.pre"):
        case "smollm":
            steps = [pre_tokenizers.Digits(individual_digits=True), byte_level(add_prefix_space=False)]
        case "qwen2":
            tokenizer.normalizer = normalizers.NFC()
            split = pre_tokenizers.Split(Regex(QWEN2_SPLIT), behavior="isolated")
            steps = [split, byte_level(add_prefix_space=False, use_regex=False)]
        case other:
            raise ValueError(f"pre-tokeniser {other}")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    kinds = field(reader, "tokenizer.ggml.token_type")
    control = [token for token, kind in zip(tokens, kinds) if kind == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=tokens[field(reader, "tokenizer.ggml.bos_token_id")],
        eos_token=tokens[field(reader, "tokenizer.ggml.eos_token_id")],
        chat_template=field(reader, "tokenizer.chat_template"),
    )


def to_halves(weight, heads):
    """Rows of q or k from pairs (GGUF's llama) to halves: row 2i of a head to i, row 2i + 1 to dim / 2 + i."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def check_model(reader, model):
    """The loaded model is the file's: every tensor, and the numbers that shape the forward."""
    architecture = field(reader, "general.architecture")
    config, state = model.config, model.state_dict()
    number = lambda name: field(reader, f"{architecture}.{name}")
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    seen = set()
    for tensor in reader.tensors:
        stem, kind = tensor.name.rsplit(".", 1)
        part = stem.split(".")[-1]
        name = f"{TOP[stem]}.{kind}" if stem in TOP else f"model.layers.{stem.split('.')[1]}.{PARTS[part]}.{kind}"
        expected = gguf.dequantize(tensor.data, tensor.tensor_type)
        if architecture == "llama" and part in heads:
            expected = to_halves(expected, heads[part])
        assert np.array_equal(state[name].numpy(), expected), name
        seen.add(name)
    tied = "output.weight" not in {tensor.name for tensor in reader.tensors}
    assert set(state) - seen == ({"lm_head.weight"} if tied else set())
    assert (model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()) == tied
    assert config.rope_parameters["rope_type"] == "default"
    dim = config.hidden_size // config.num_attention_heads
    frequencies = number("rope.freq_base") ** -(np.arange(0, dim, 2) / dim)
    assert np.allclose(model.model.rotary_emb.inv_freq.numpy(), frequencies, rtol=1e-5)
    assert config.rms_norm_eps == number("attention.layer_norm_rms_epsilon")
    assert config.num_key_value_heads == number("attention.head_count_kv")


@torch.no_grad()
def loss_of(model, ids):
    """Mean next-token loss of each window, in nats."""
    means = []
    for window in range(WINDOWS):
        start = window * WINDOW
        rows = model(torch.tensor([ids[start : start + WINDOW]])).logits[0]
        targets = torch.tensor(ids[start + 1 : start + WINDOW + 1])
        total = 0.0
        for row, target in zip(rows.split(50), targets.split(50)):
            total += torch.nn.functional.cross_entropy(row.double(), target, reduction="sum").item()
        means.append(total / WINDOW)
    return means


@torch.no_grad()
def continue_greedily(model, ids):
    """GREEDY ids and, for each, the gap between the two largest logits."""
    continuation, gaps, cache, feed = [], [], None, ids
    for _ in range(GREEDY):
        out = model(torch.tensor([feed]), past_key_values=cache, use_cache=True, logits_to_keep=1)
        top = out.logits[0, -1].topk(2)
        continuation.append(int(top.indices[0]))
        gaps.append(round(float(top.values[0] - top.values[1]), 4))
        cache, feed = out.past_key_values, continuation[-1:]
    return continuation, gaps


def greedy_of(model, tokenizer):
    prompts = [(text, tokenizer.encode(text, add_special_tokens=False)) for text in RAW]
    for chat in CHATS:
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        prompts.append((text, tokenizer.encode(text, add_special_tokens=False)))
    runs = []
    for text, ids in prompts:
        continuation, gaps = continue_greedily(model, ids)
        print(f"  {text[-50:]!r} -> {tokenizer.decode(continuation)!r}", flush=True)
        runs.append(
            {
                "prompt": text,
                "ids": ids,
                "continuation": continuation,
                "gaps": gaps,
                "text": tokenizer.decode(continuation),
            }
        )
    return runs


def compact(value, depth=0):
    """JSON with a line per field and a list of numbers on one line."""
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        rows = [f"{pad}{json.dumps(key)}: {compact(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(pad + compact(item, depth + 1) for item in value) + "\n" + " " * depth + "]"
    return json.dumps(value, ensure_ascii=False)


def make(alias, folder):
    path = folder / FILES[alias]
    started = time.time()
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    reader = gguf.GGUFReader(str(path))
    check_model(reader, model)
    tokenizer = tokenizer_of(reader)
    text = (HERE / "text.txt").read_text(encoding="utf-8")
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert unicodedata.normalize("NFC", tokenizer.decode(ids)) == unicodedata.normalize("NFC", text)
    assert len(ids) > WINDOW * WINDOWS
    ids = ids[: WINDOW * WINDOWS + 1]
    windows = loss_of(model, ids)
    print(f"{alias}: loss {np.mean(windows):.4f}, windows {np.round(windows, 3)}", flush=True)
    result = {
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "made_with": {
            "transformers": transformers.__version__,
            "torch": torch.__version__,
            "dtype": "float32",
            "attention": "eager",
        },
        "loss": {
            "window": WINDOW,
            "mean": float(np.mean(windows)),
            "window_means": windows,
            "ids": ids,
        },
        "greedy": greedy_of(model, tokenizer),
    }
    (HERE / f"{alias}.json").write_text(compact(result) + "\n", encoding="utf-8")
    print(f"{alias}: {time.time() - started:.0f} s", flush=True)


def main():
    torch.set_num_threads(2)
    arguments = sys.argv[1:]
    folder = Path(arguments.pop(0)) if arguments else Path.home() / ".cache/moot/models"
    for alias in arguments or FILES:
        make(alias, folder)


if __name__ == "__main__":
    main()
