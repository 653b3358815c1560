"""Make the corpus of the GGUF and safetensors targets: small files that are sound, of every kind of value and type.

    python make.py            # writes beside this file; needs numpy, gguf, safetensors

Small, because a fuzzer's chance to hit a field falls with every byte around it. The models have one layer of 16.
"""

from pathlib import Path

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES
from safetensors.numpy import save_file

HERE = Path(__file__).parent
GENERATOR = np.random.Generator(np.random.PCG64(9))
H = 16


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def noise(*shape):
    return GENERATOR.standard_normal(shape).astype(np.float16)


def model(name, architecture, blocks, extra=lambda writer: None):
    writer = gguf.GGUFWriter(str(HERE / "gguf" / f"{name}.gguf"), architecture)
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(H)
    writer.add_feed_forward_length(H)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_key_length(H)
    extra(writer)
    writer.add_tensor("token_embd.weight", noise(4, H))
    writer.add_tensor("output_norm.weight", noise(H))
    for part, shape in {"attn_norm": (H,), "ffn_norm": (H,), "attn_output": (H, H), "ffn_down": (H, H), **blocks}.items():
        writer.add_tensor(f"blk.0.{part}.weight", noise(*shape))
    finish(writer)


def values():
    """Every kind of value and array."""
    writer = gguf.GGUFWriter(str(HERE / "gguf" / "values.gguf"), "llama")
    kinds = "uint8 int8 uint16 int16 uint32 int32 float32 uint64 int64 float64 bool".split()
    for kind in kinds:
        getattr(writer, f"add_{kind}")(f"a.{kind}", True if kind == "bool" else 5)
    writer.add_string("a.string", "text")
    writer.add_array("a.strings", ["one", "two", ""])
    for kind in kinds:
        element = gguf.GGUFValueType[kind.upper()]
        writer.add_key_value(f"a.{kind}s", [True] if kind == "bool" else [1, 2], gguf.GGUFValueType.ARRAY, sub_type=element)
    writer.add_custom_alignment(8)
    writer.add_tensor("t", noise(2, 3))
    finish(writer)


def types():
    """Every type of tensor, a block or two each."""
    writer = gguf.GGUFWriter(str(HERE / "gguf" / "types.gguf"), "llama")
    for name in "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K".split():
        kind = gguf.GGMLQuantizationType[name]
        width = GGML_QUANT_SIZES[kind][1]
        writer.add_tensor(name, np.full((2, width), 0x11, dtype=np.uint8), raw_dtype=kind)
    finish(writer)


def main():
    for folder in ("gguf", "safetensors"):
        (HERE / folder).mkdir(exist_ok=True)
    separate = {part: (H, H) for part in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up")}
    freqs = lambda writer: writer.add_tensor("rope_freqs.weight", np.ones(H // 2, dtype=np.float32))  # noqa: E731
    model("llama", "llama", separate, freqs)
    model("qwen3", "qwen3", separate | {"attn_q_norm": (H,), "attn_k_norm": (H,)})

    def longrope(writer):
        writer.add_sliding_window(32)
        writer.add_rope_scaling_orig_ctx_len(16)
        writer.add_rope_scaling_attn_factors(1.5)
        writer.add_rope_dimension_count(8)
        writer.add_tensor("rope_factors_short.weight", np.ones(4, dtype=np.float32))

    model("phi3", "phi3", {"attn_qkv": (3 * H, H), "ffn_up": (2 * H, H)}, longrope)
    values()
    types()
    names = ["model.embed_tokens.weight", "model.norm.weight", "model.layers.0.self_attn.q_proj.weight"]
    save_file({name: noise(4, 4) for name in names}, str(HERE / "safetensors" / "halves.safetensors"))
    every = "float64 float32 float16 int64 int32 int16 int8 uint8 bool".split()
    save_file({kind: np.ones((2, 3), dtype=kind) for kind in every}, str(HERE / "safetensors" / "types.safetensors"))
    odd = {"scalar": np.ones((), np.float32), "empty": np.zeros((0, 4), np.float32), "deep": np.ones((1, 1, 2, 1, 1), np.float32)}
    save_file(odd, str(HERE / "safetensors" / "odd.safetensors"), metadata={"format": "pt"})


if __name__ == "__main__":
    main()
