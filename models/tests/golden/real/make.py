"""Ask Hugging Face transformers what real GGUF files say: loss on real text, greedy continuations.

    python make.py [FOLDER] [ALIAS...]     # FOLDER holds the .gguf files; default ~/.cache/moot/models
                                           # needs torch, transformers, accelerate, gguf, tokenizers; ~14 GB RAM

Writes `<alias>.json` beside this file. The weights are dequantised by transformers' GGUF loader to f32 and the
model runs in f32 with eager attention, on the CPU. Before a number is written the loaded model is compared with
the file: every tensor (the q and k rows of `llama` put back from pairs to halves, 1 taken from Gemma 3's norms), rope
bases, epsilon, tying, windows.

Loss: the first 4,001 tokens of text.txt (no token added), in 8 windows of 500, for Gemma 3 in 4 of 1,000, which is
beyond the 512 positions of its layers with a window. Window k of w tokens is ids[wk .. wk + w], run from an empty
cache; its row i is scored against ids[wk + i + 1]. The loss is the mean over the 4,000 rows of -ln softmax(row)[next],
in nats, the softmax in f64.

Greedy: 20 tokens after each of 20 prompts, by the largest logit, not stopped by an end token. `gaps` holds for each
step the largest logit less the second; a reader with another order of sums may differ where the gap is tiny. A base
model has no chat template, so its prompts are plain texts, after the token that begins a text; the last is the
beginning of text.txt, longer than its window.

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
    "gemma-3-270m-base": "gemma-3-270m-q4_k_m.gguf",
}
# Tokens of a window, and windows.
WINDOWS = {alias: (500, 8) for alias in FILES} | {"gemma-3-270m-base": (1000, 4)}
GREEDY = 20
# Characters of the base model's last prompt.
LONG = 2600

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
# In place of chats, for a base model: mostly lists, whose next token is clear to a small one.
BASE_RAW = [
    "Montag, Dienstag, Mittwoch,",
    "uno, dos, tres, cuatro,",
    "一月、二月、三月、",
    "월요일, 화요일, 수요일,",
    "ένα, δύο, τρία,",
    "सोमवार, मंगलवार, बुधवार,",
    "import numpy as np\nimport matplotlib.pyplot as",
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

BEGIN, END, UNKNOWN = (f"tokenizer.ggml.{kind}_token_id" for kind in ("bos", "eos", "unknown"))
# What SentencePiece writes for a space.
SPACE = "\u2581"


def field(reader, name):
    return reader.fields[name].contents()


def sentencepiece_of(reader):
    """The GGUF's vocabulary of pieces and scores as a tokeniser: the neighbours whose union has the highest score are
    joined first. User-defined pieces are matched before that, the longest first.
    """
    assert not field(reader, "tokenizer.ggml.add_space_prefix")
    tokens, scores = field(reader, "tokenizer.ggml.tokens"), field(reader, "tokenizer.ggml.scores")
    kinds = field(reader, "tokenizer.ggml.token_type")
    of_kind = lambda wanted: [token for token, kind in zip(tokens, kinds) if kind == wanted]
    ids = {token: id for id, token in enumerate(tokens) if kinds[id] == gguf.TokenType.NORMAL}
    halves = ((id, token[:at], token[at:]) for token, id in ids.items() for at in range(1, len(token)))
    joins = [(-scores[id], id, ids[left], ids[right]) for id, left, right in halves if left in ids and right in ids]
    merges = [(tokens[left], tokens[right]) for *_, left, right in sorted(joins)]
    vocabulary, unknown = {token: id for id, token in enumerate(tokens)}, tokens[field(reader, UNKNOWN)]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    defined, control = of_kind(gguf.TokenType.USER_DEFINED), of_kind(gguf.TokenType.CONTROL)
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in defined])
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    begin, end = tokens[field(reader, BEGIN)], tokens[field(reader, END)]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=begin, eos_token=end)


def byte_level_of(reader):
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
        bos_token=tokens[field(reader, BEGIN)],
        eos_token=tokens[field(reader, END)],
        chat_template=field(reader, "tokenizer.chat_template"),
    )


def tokenizer_of(reader):
    return sentencepiece_of(reader) if field(reader, "tokenizer.ggml.model") == "llama" else byte_level_of(reader)


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
GEMMA3_PARTS = PARTS | {
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def check_tensors(reader, architecture, model):
    config, state = model.config, model.state_dict()
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    parts = GEMMA3_PARTS if architecture == "gemma3" else PARTS
    seen = set()
    for tensor in reader.tensors:
        stem, kind = tensor.name.rsplit(".", 1)
        part = stem.split(".")[-1]
        name = f"{TOP[stem]}.{kind}" if stem in TOP else f"model.layers.{stem.split('.')[1]}.{parts[part]}.{kind}"
        expected = gguf.dequantize(tensor.data, tensor.tensor_type)
        if architecture == "llama" and part in heads:
            expected = to_halves(expected, heads[part])
        if architecture == "gemma3" and part.endswith("norm"):
            expected = expected - 1  # transformers multiplies by 1 + w
        assert np.array_equal(state[name].numpy(), expected), name
        seen.add(name)
    tied = "output.weight" not in {tensor.name for tensor in reader.tensors}
    assert set(state) - seen == ({"lm_head.weight"} if tied else set())
    assert (model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()) == tied


def check_rotation(parameters, frequencies, base, dim):
    assert parameters["rope_type"] == "default"
    assert np.allclose(frequencies.numpy(), base ** -(np.arange(0, dim, 2) / dim), rtol=1e-5)


def check_gemma3(reader, model):
    """What only Gemma 3 has. The file does not say which layers have the window, and may leave out their rope base."""
    number = lambda name: field(reader, f"gemma3.{name}")
    config, rotary = model.config, model.model.rotary_emb
    dim = number("attention.key_length")
    bases = {"sliding_attention": 10000.0, "full_attention": number("rope.freq_base")}
    if "gemma3.rope.freq_base_swa" in reader.fields:
        bases["sliding_attention"] = number("rope.freq_base_swa")
    assert "gemma3.rope.scaling.type" not in reader.fields
    for kind, base in bases.items():
        check_rotation(config.rope_parameters[kind], getattr(rotary, f"{kind}_inv_freq"), base, dim)
    assert config.layer_types == [list(bases)[(layer + 1) % 6 == 0] for layer in range(number("block_count"))]
    assert config.sliding_window == number("attention.sliding_window")
    assert config.head_dim == config.query_pre_attn_scalar == dim
    assert config.hidden_activation == "gelu_pytorch_tanh"
    assert config.attn_logit_softcapping is None and config.final_logit_softcapping is None
    assert np.isclose(model.model.embed_tokens.embed_scale.item(), config.hidden_size**0.5, rtol=1e-6)


def check_model(reader, model):
    """The loaded model is the file's: every tensor, and the numbers that shape the forward."""
    architecture = field(reader, "general.architecture")
    config = model.config
    number = lambda name: field(reader, f"{architecture}.{name}")
    check_tensors(reader, architecture, model)
    if architecture == "gemma3":
        check_gemma3(reader, model)
    else:
        dim = config.hidden_size // config.num_attention_heads
        check_rotation(config.rope_parameters, model.model.rotary_emb.inv_freq, number("rope.freq_base"), dim)
    assert config.rms_norm_eps == number("attention.layer_norm_rms_epsilon")
    assert config.num_key_value_heads == number("attention.head_count_kv")


@torch.no_grad()
def loss_of(model, ids, window):
    """Mean next-token loss of each window, in nats."""
    means = []
    for start in range(0, len(ids) - 1, window):
        rows = model(torch.tensor([ids[start : start + window]])).logits[0]
        targets = torch.tensor(ids[start + 1 : start + window + 1])
        total = 0.0
        for row, target in zip(rows.split(50), targets.split(50)):
            total += torch.nn.functional.cross_entropy(row.double(), target, reduction="sum").item()
        means.append(total / window)
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


def prompts_of(tokenizer, text):
    """Prompts with their ids: plain texts and chats, or for a base model plain texts and the beginning of `text`."""
    encode = lambda prompt: tokenizer.encode(prompt, add_special_tokens=False)
    if tokenizer.chat_template is None:
        return [(prompt, [tokenizer.bos_token_id, *encode(prompt)]) for prompt in [*RAW, *BASE_RAW, text[:LONG]]]
    chats = [tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in CHATS]
    return [(prompt, encode(prompt)) for prompt in RAW + chats]


def greedy_of(model, tokenizer, prompts):
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
    window, windows = WINDOWS[alias]
    assert len(ids) > window * windows
    ids = ids[: window * windows + 1]
    means = loss_of(model, ids, window)
    print(f"{alias}: loss {np.mean(means):.4f}, windows {np.round(means, 3)}", flush=True)
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
            "window": window,
            "mean": float(np.mean(means)),
            "window_means": means,
            "ids": ids,
        },
        "greedy": greedy_of(model, tokenizer, prompts_of(tokenizer, text)),
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
