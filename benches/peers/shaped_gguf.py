"""The header of a GGUF file of a mixture of experts or of Gemma 4, in the shape of moot's catalog and at any depth.

    python benches/peers/shaped_gguf.py NAME LAYERS VOCABULARY.gguf HEADER     # NAME of models/catalog.toml
    python benches/peers/random_gguf.py fill HEADER OUT.gguf                   # the file, with random weights

Models of these kinds are too large to be had everywhere. Speed depends on the shape of a layer, which is the model's own
here, and not on the weights' values. The vocabulary is that of any GGUF file: it is cut, or filled up, to the model's.
Matrices are Q4_K, the embedding and what is like it Q6_K. Needs the package gguf.
"""

import sys
import tomllib
from pathlib import Path

import gguf
import numpy as np

CATALOG = Path(__file__).resolve().parents[2] / "models" / "catalog.toml"
F32, Q4_K, Q6_K = (gguf.GGMLQuantizationType[name] for name in ("F32", "Q4_K", "Q6_K"))


def experts(shape, layers):
    """Fields and tensors (name, shape, type) of `qwen3moe`."""
    hidden, dim, inner = shape["hidden_size"], shape["head_dim"], shape["moe_intermediate_size"]
    heads, kv_heads, count = (shape[f"num_{of}"] for of in ("attention_heads", "key_value_heads", "experts"))
    fields = {"expert_count": count, "expert_used_count": shape["num_experts_per_tok"], "expert_feed_forward_length": inner,
              "attention.head_count_kv": kv_heads, "attention.key_length": dim, "attention.value_length": dim,
              "feed_forward_length": shape["intermediate_size"], "rope.freq_base": shape["rope_theta"]}
    tensors = [("output", (shape["vocab_size"], hidden), Q6_K)]
    for block in (f"blk.{layer}." for layer in range(layers)):
        tensors += [(block + name, (hidden,), F32) for name in ("attn_norm", "ffn_norm")]
        tensors += [(block + name, (dim,), F32) for name in ("attn_q_norm", "attn_k_norm")]
        tensors += [(block + "attn_q", (heads * dim, hidden), Q4_K), (block + "attn_output", (hidden, heads * dim), Q4_K)]
        tensors += [(block + name, (kv_heads * dim, hidden), Q4_K) for name in ("attn_k", "attn_v")]
        tensors += [(block + "ffn_gate_inp", (count, hidden), F32), (block + "ffn_down_exps", (count, hidden, inner), Q4_K)]
        tensors += [(block + name, (count, inner, hidden), Q4_K) for name in ("ffn_gate_exps", "ffn_up_exps")]
    return "qwen3moe", fields, tensors


def gemma4(shape, layers):
    """Fields and tensors of `gemma4` without experts."""
    hidden, heads, kv_heads = (shape[name] for name in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    shared, width, wide = (shape.get(name, 0) for name in ("num_kv_shared_layers", "hidden_size_per_layer_input",
                                                            "use_double_wide_mlp"))
    full_kv_heads = shape.get("num_global_key_value_heads", kv_heads)
    windowed = shape.get("layer_types") or ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(layers)]
    windowed = [of == "sliding_attention" for of in windowed[:layers]]
    own = layers - shared
    inner = [shape["intermediate_size"] * (2 if wide and layer >= own else 1) for layer in range(layers)]
    dims = [shape["head_dim"] if of else shape["global_head_dim"] for of in windowed]
    fields = {"attention.head_count_kv": [kv_heads if of else full_kv_heads for of in windowed],
              "feed_forward_length": inner, "attention.shared_kv_layers": shared, "embedding_length_per_layer_input": width,
              "attention.sliding_window": shape["sliding_window"], "attention.sliding_window_pattern": windowed,
              "final_logit_softcapping": shape["final_logit_softcapping"], "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4}
    for end, dim in ("", shape["global_head_dim"]), ("_swa", shape["head_dim"]):
        fields |= {f"attention.key_length{end}": dim, f"attention.value_length{end}": dim, f"rope.dimension_count{end}": dim}
    tensors = [("rope_freqs", (shape["global_head_dim"] // 2,), F32)]
    if width:
        tensors += [("per_layer_token_embd", (shape["vocab_size"], layers * width), Q6_K),
                    ("per_layer_model_proj", (layers * width, hidden), Q4_K), ("per_layer_proj_norm", (width,), F32)]
    for layer, dim in enumerate(dims):
        block, kv = f"blk.{layer}.", (kv_heads if windowed[layer] else full_kv_heads) * dim
        norms = ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"] + ["post_norm"] * bool(width)
        tensors += [(block + name, (hidden,), F32) for name in norms]
        tensors += [(block + "layer_output_scale", (1,), F32), (block + "attn_q_norm", (dim,), F32)]
        tensors += [(block + "attn_q", (heads * dim, hidden), Q4_K), (block + "attn_output", (hidden, heads * dim), Q4_K)]
        if layer < own:
            names = ["attn_k"] + ["attn_v"] * (windowed[layer] or not shape.get("attention_k_eq_v"))
            tensors += [(block + "attn_k_norm", (dim,), F32)] + [(block + name, (kv, hidden), Q4_K) for name in names]
        tensors += [(block + name, (inner[layer], hidden), Q4_K) for name in ("ffn_gate", "ffn_up")]
        tensors += [(block + "ffn_down", (hidden, inner[layer]), Q4_K)]
        if width:
            tensors += [(block + "inp_gate", (width, hidden), Q4_K), (block + "proj", (hidden, width), Q4_K)]
    return "gemma4", fields, tensors


def vocabulary(writer, path, size):
    """Copies a file's vocabulary, cut or filled up to `size` tokens."""
    fields = gguf.GGUFReader(path).fields
    texts = fields["tokenizer.ggml.tokens"].contents()[:size]
    kinds = fields["tokenizer.ggml.token_type"].contents()[:size]
    missing = size - len(texts)
    texts += [f"<unused{number}>" for number in range(missing)]
    kinds += [int(gguf.TokenType.UNUSED)] * missing
    writer.add_token_list(texts)
    writer.add_token_types(kinds)
    for name in ("tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template"):
        if name in fields:
            writer.add_string(name, fields[name].contents())
    writer.add_token_merges(fields["tokenizer.ggml.merges"].contents())
    for name in ("bos", "eos", "unknown", "padding"):
        name = f"tokenizer.ggml.{name}_token_id"
        if name in fields:
            writer.add_uint32(name, fields[name].contents())
    writer.add_add_bos_token("tokenizer.ggml.add_bos_token" in fields and fields["tokenizer.ggml.add_bos_token"].contents())


def main(name, layers, source, target):
    """Writes the header."""
    rows = tomllib.loads(CATALOG.read_text(encoding="utf-8"))["model"]
    shape = next((row["shape"] for row in rows if row["alias"] == name), None)
    kinds = {"qwen3_moe": experts, "gemma4_text": gemma4}
    if shape is None or shape["model_type"] not in kinds or shape.get("enable_moe_block"):
        sys.exit(f"{name}: expected a name of {CATALOG.name} of type {' or '.join(kinds)} without experts beside")
    architecture, fields, tensors = kinds[shape["model_type"]](shape, layers)
    writer = gguf.GGUFWriter(target, architecture)
    writer.add_block_count(layers)
    writer.add_context_length(shape["max_position_embeddings"])
    writer.add_embedding_length(shape["hidden_size"])
    writer.add_head_count(shape["num_attention_heads"])
    writer.add_layer_norm_rms_eps(shape["rms_norm_eps"])
    for field, value in fields.items():
        field = f"{architecture}.{field}"
        if isinstance(value, list):
            writer.add_array(field, value)
        elif isinstance(value, float):
            writer.add_float32(field, value)
        else:
            writer.add_uint32(field, int(value))
    vocabulary(writer, source, shape["vocab_size"])
    hidden = shape["hidden_size"]
    tensors = [("token_embd", (shape["vocab_size"], hidden), Q6_K), ("output_norm", (hidden,), F32), *tensors]
    for tensor, size, kind in tensors:
        block, bytes_ = gguf.GGML_QUANT_SIZES[kind]
        elements = 1
        for number in size:
            elements *= number
        stored = size if kind == F32 else (*size[:-1], size[-1] // block * bytes_)
        dtype = np.float32 if kind == F32 else np.uint8
        writer.add_tensor_info(f"{tensor}.weight", stored, dtype, elements // block * bytes_, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()


if __name__ == "__main__":
    if len(sys.argv) != 5 or not sys.argv[2].isdigit():
        sys.exit(__doc__.strip())
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
