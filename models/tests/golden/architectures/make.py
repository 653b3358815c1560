"""Make a tiny random model of every architecture and form of rope scaling, and what Hugging Face transformers says of it.

    python make.py            # writes beside this file; needs torch, transformers, gguf, safetensors

Per model: `<name>/` with config.json, bfloat16 safetensors and expected.safetensors, and `<name>.gguf` with the same
weights as llama.cpp's converter would lay them out. There are no tokenizers: `../tiny` has models that are complete.
`split/` is `qwen3.gguf` again, in three files.

What the models cover between them (`../tiny` has llama and qwen2 without any of it):

    |              | heads x size of hidden | output | rope                          | besides                         |
    |--------------|------------------------|--------|-------------------------------|---------------------------------|
    | llama3       | 4 x 16 of 48           | tied   | llama3, beyond the original   | rope_freqs tensor in the GGUF   |
    | llama-linear | 2 x 16 of 32           | own    | linear                        | biases on q, k, v and o         |
    | mistral      | 2 x 32 of 48           | own    | plain                         | the GGUF says llama             |
    | qwen3        | 4 x 16 of 32           | tied   | plain                         | norms of queries and keys       |
    | qwen3-yarn   | 4 x 16 of 32           | own    | yarn                          | norms of queries and keys       |
    | phi3         | 3 x 16 of 48           | own    | plain                         | fused, a sliding window         |
    | phi3-long    | 2 x 32 of 64           | tied   | longrope on 3/4 of a head     | fused                           |

`check_sensitivity` asserts that a slip in each of these moves the logits by far more than the tests' tolerance.
"""

import json
import math
import shutil
from pathlib import Path

import gguf
import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    Qwen3Config,
)

HERE = Path(__file__).parent
VOCAB = 48
LENGTHS = (1, 17, 61)
SHARED = dict(
    vocab_size=VOCAB,
    num_hidden_layers=2,
    max_position_embeddings=256,
    bos_token_id=0,
    eos_token_id=1,
    pad_token_id=2,
    rms_norm_eps=1e-4,
)
# Wavelengths of 16 rotated numbers at this base: 6.3, 19.9, 62.8 and more. With 32 positions at first, the first is
# below 32 / 4 and kept, the second between and blended, the others above 32 / 1 and divided.
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
# The first pair is kept, the second halfway, the others divided.
YARN = dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32)
SHORT = [1.0 + 0.1 * pair for pair in range(12)]
LONG = [2.0 + 0.5 * pair for pair in range(12)]
ORIGINAL = 64

# name: configuration, its base of rotations, and what config.json says of them in the form of its time.
MODELS = {
    "llama3": (
        LlamaConfig,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16),
        dict(tie_word_embeddings=True, rope_parameters=dict(rope_theta=10000.0, **LLAMA3)),
        dict(rope_theta=10000.0, rope_scaling=LLAMA3),
    ),
    "llama-linear": (
        LlamaConfig,
        dict(hidden_size=32, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, attention_bias=True),
        dict(tie_word_embeddings=False, rope_parameters=dict(rope_theta=10000.0, rope_type="linear", factor=4.0)),
        dict(rope_parameters=dict(rope_theta=10000.0, rope_type="linear", factor=4.0)),
    ),
    "mistral": (
        MistralConfig,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, head_dim=32),
        dict(tie_word_embeddings=False, sliding_window=None, rope_parameters=dict(rope_theta=1e6, rope_type="default")),
        dict(rope_theta=1e6),
    ),
    "qwen3": (
        Qwen3Config,
        dict(hidden_size=32, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16),
        dict(tie_word_embeddings=True, rope_parameters=dict(rope_theta=1e6, rope_type="default")),
        dict(rope_theta=1e6, rope_scaling=None),
    ),
    "qwen3-yarn": (
        Qwen3Config,
        dict(hidden_size=32, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16),
        dict(tie_word_embeddings=False, rope_parameters=dict(rope_theta=10000.0, **YARN)),
        dict(rope_theta=10000.0, rope_scaling=YARN),
    ),
    "phi3": (
        Phi3Config,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=3, num_key_value_heads=3),
        dict(tie_word_embeddings=False, sliding_window=61, original_max_position_embeddings=256)
        | dict(rope_parameters=dict(rope_theta=10000.0, rope_type="default")),
        dict(rope_theta=10000.0, rope_scaling=None),
    ),
    "phi3-long": (
        Phi3Config,
        dict(hidden_size=64, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1),
        dict(tie_word_embeddings=True, original_max_position_embeddings=ORIGINAL, partial_rotary_factor=0.75)
        | dict(rope_parameters=dict(rope_theta=10000.0, rope_type="longrope", short_factor=SHORT, long_factor=LONG)
               | dict(original_max_position_embeddings=ORIGINAL, partial_rotary_factor=0.75)),
        dict(rope_theta=10000.0, partial_rotary_factor=0.75, original_max_position_embeddings=ORIGINAL)
        | dict(rope_scaling=dict(type="longrope", short_factor=SHORT, long_factor=LONG)),
    ),
}  # fmt: skip

# Fields that the decoder's forward depends on, besides those of MODELS; what a published config.json says too.
WRITTEN = (
    "model_type vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
    "head_dim max_position_embeddings rms_norm_eps hidden_act tie_word_embeddings attention_bias mlp_bias "
    "sliding_window use_sliding_window max_window_layers bos_token_id eos_token_id pad_token_id"
).split()


def random_model(config, seed):
    """The model in f32, every weight a bfloat16 number, drawn large enough that attention is far from uniform."""
    generator = np.random.Generator(np.random.PCG64(seed))
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = generator.standard_normal(tuple(parameter.shape))
            if "norm" in name:
                value = 1.0 + 0.3 * noise
            elif name.endswith(".bias"):
                value = 0.5 * noise
            elif "embed_tokens" in name:
                value = 0.2 * noise
            else:
                value = (1.6 if ".q" in name or ".k" in name else 1.0) * noise / np.sqrt(noise.shape[1])
            parameter.copy_(torch.from_numpy(value).to(torch.bfloat16))
    return model


def stored(model):
    """The tensors a checkpoint holds: a tied output projection is not among them."""
    state = {name: tensor.detach().clone().contiguous() for name, tensor in sorted(model.state_dict().items())}
    if model.config.tie_word_embeddings:
        del state["lm_head.weight"]
    return state


def write_folder(folder, model, rope):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    fields = {name: getattr(model.config, name) for name in WRITTEN if hasattr(model.config, name)}
    fields |= rope | dict(architectures=[type(model).__name__], torch_dtype="bfloat16")
    (folder / "config.json").write_text(json.dumps(dict(sorted(fields.items())), indent=2) + "\n", encoding="utf-8")
    state = {name: tensor.to(torch.bfloat16) for name, tensor in stored(model).items()}
    save_torch(state, str(folder / "model.safetensors"), metadata={"format": "pt"})


NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
TOP_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name):
    stem, kind = name.rsplit(".", 1)
    if stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{NAMES[part]}.{kind}"


def interleave(array, heads):
    """Rows of a q or k projection, or its bias, from halves to pairs: llama.cpp rotates neighbours for llama."""
    return array.reshape(heads, 2, array.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(array.shape)


def llama3_divisors(config, dims):
    """As the converter computes them for `rope_freqs.weight`."""
    rope = config.rope_parameters
    low, high, original = (rope[f] for f in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
    divisors = []
    for pair in range(dims // 2):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (2 * pair / dims)
        if wavelength < original / high:
            divisors.append(1.0)
        elif wavelength > original / low:
            divisors.append(rope["factor"])
        else:
            smooth = (original / wavelength - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(divisors, dtype=np.float32)


def add_rope(writer, name, config, dims):
    rope = config.rope_parameters
    writer.add_rope_freq_base(rope["rope_theta"])
    if name.startswith("phi3"):
        writer.add_rope_dimension_count(int(rope.get("partial_rotary_factor", 1.0) * config.hidden_size)
                                        // config.num_attention_heads)  # fmt: skip
        writer.add_rope_scaling_orig_ctx_len(config.original_max_position_embeddings)
        writer.add_sliding_window(config.sliding_window or 0)
    elif not name.startswith("qwen3"):
        writer.add_rope_dimension_count(dims)
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    elif rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    elif rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config, dims))
    elif rope["rope_type"] == "longrope":
        original = config.original_max_position_embeddings
        ratio = config.max_position_embeddings / original
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(ratio) / math.log(original)))
        writer.add_tensor("rope_factors_long.weight", np.array(LONG, dtype=np.float32))
        writer.add_tensor("rope_factors_short.weight", np.array(SHORT, dtype=np.float32))


def write_gguf(path, name, model, **options):
    config = model.config
    architecture = "qwen3" if name.startswith("qwen3") else "phi3" if name.startswith("phi3") else "llama"
    dims = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer = gguf.GGUFWriter(str(path), architecture, **options)
    writer.add_type("model")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if name in ("llama3", "mistral") or architecture == "qwen3":
        writer.add_key_length(dims)
        writer.add_value_length(dims)
    add_rope(writer, name, config, dims)
    for key, tensor in stored(model).items():
        array = tensor.numpy()
        if architecture == "llama" and ".q_proj" in key:
            array = interleave(array, config.num_attention_heads)
        if architecture == "llama" and ".k_proj" in key:
            array = interleave(array, config.num_key_value_heads)
        array = np.ascontiguousarray(array)
        if array.ndim == 1:
            writer.add_tensor(gguf_name(key), array)
        else:
            bf16 = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(gguf_name(key), gguf.quants.quantize(array, bf16), raw_dtype=bf16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@torch.no_grad()
def logits_of(model, ids):
    return model(torch.tensor([ids])).logits[0].float().numpy()


def write_expected(path, model, seed):
    """`ids.N` u32 [len] and `logits.N` f32 [len, vocab] at every position."""
    generator = np.random.Generator(np.random.PCG64(seed))
    tensors = {}
    for number, length in enumerate(LENGTHS):
        ids = generator.integers(0, VOCAB, length)
        tensors[f"ids.{number}"] = ids.astype(np.uint32)
        tensors[f"logits.{number}"] = logits_of(model, ids.tolist()).astype(np.float32)
    save_file(tensors, str(path))
    return tensors


def check_loads(folder, tensors):
    """config.json, read back in its own form, gives the same model."""
    form = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    for number in range(len(LENGTHS)):
        found = logits_of(form, tensors[f"ids.{number}"].tolist())
        assert np.abs(found - tensors[f"logits.{number}"]).max() < 1e-5, folder


def change(model, fields, edit=lambda state: None):
    """The logits' function of the same weights under other fields."""
    config = type(model.config)(**{**model.config.to_dict(), **fields})
    other = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    edit(state)
    other.load_state_dict(state)
    return other


def check_sensitivity(name, model, tensors):
    ids, expected = tensors["ids.2"].tolist(), tensors["logits.2"]
    theta, attention = model.config.rope_parameters["rope_theta"], "model.layers.0.self_attn"
    plain = dict(rope_parameters=dict(rope_theta=theta, rope_type="default"))
    slips = {"base": (dict(rope_parameters=model.config.rope_parameters | dict(rope_theta=theta * 7)), lambda s: None)}
    if model.config.rope_parameters["rope_type"] != "default":
        slips["no scaling"] = (plain, lambda s: None)
    for tensor in model.state_dict():
        if tensor.startswith(attention) and ("norm" in tensor or "bias" in tensor):
            slips[tensor] = ({}, lambda s, tensor=tensor: s[tensor].fill_(1.0 if "norm" in tensor else 0.0))
    if name.startswith("phi3"):
        def swap(state):
            gate_up = "model.layers.0.mlp.gate_up_proj.weight"
            state[gate_up] = torch.cat(list(reversed(state[gate_up].chunk(2))))

        slips["gate and up"] = ({}, swap)
    if name == "phi3-long":
        rope = model.config.rope_parameters
        slips["magnitude"] = (dict(rope_parameters=rope | dict(attention_factor=1.0)), lambda s: None)
    changes = {}
    for slip, (fields, edit) in slips.items():
        changes[slip] = float(np.abs(logits_of(change(model, fields, edit), ids) - expected).max())
    print(name, "logits' spread", round(float(expected.std()), 2), {k: round(v, 3) for k, v in changes.items()})
    assert min(changes.values()) > 0.02


def main():
    torch.set_num_threads(1)
    for seed, (name, (kind, sizes, fields, rope)) in enumerate(MODELS.items(), start=31):
        model = random_model(kind(**SHARED, **sizes, **fields), seed)
        write_folder(HERE / name, model, rope)
        write_gguf(HERE / f"{name}.gguf", name, model)
        if name == "qwen3":
            shutil.rmtree(HERE / "split", ignore_errors=True)
            (HERE / "split").mkdir()
            write_gguf(HERE / "split" / "qwen3.gguf", name, model, split_max_tensors=9)
        tensors = write_expected(HERE / name / "expected.safetensors", model, seed + 100)
        check_loads(HERE / name, tensors)
        check_sensitivity(name, model, tensors)


if __name__ == "__main__":
    main()
