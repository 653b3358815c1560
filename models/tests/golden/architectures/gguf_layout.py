"""A model as a GGUF file: the names, keys and order of rows that llama.cpp's converter writes."""

import math
import re

import gguf
import numpy as np

import delta
import gemma4
import lfm2

# What llama.cpp calls the architecture, where it is not config.json's `model_type`.
ARCHITECTURES = {"mistral": "llama", "gemma3_text": "gemma3", "qwen3_moe": "qwen3moe", "qwen3_5_text": "qwen35"}
ARCHITECTURES |= {"olmo3": "olmo2", "qwen3_5_moe_text": "qwen35moe", "ministral3": "mistral3", "gpt_oss": "gpt-oss"}
ARCHITECTURES |= {"lfm2_moe": "lfm2moe", gemma4.MODEL_TYPE: "gemma4"}
# Gated delta nets.
DELTA = ("qwen35", "qwen35moe")
# Mixtures of experts.
EXPERTS = ("qwen3moe", "qwen35moe", "gpt-oss", "lfm2moe")
# Short convolutions.
LFM2 = ("lfm2", "lfm2moe")
# llama.cpp rotates neighbours (its type NORM) in these, and halves, as transformers does, in the others.
INTERLEAVED = ("llama", "smollm3", "mistral3", "granite")
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
    "mlp.gate": "ffn_gate_inp",
    "mlp.experts.gate_proj": "ffn_gate_exps",
    "mlp.experts.up_proj": "ffn_up_exps",
    "mlp.experts.down_proj": "ffn_down_exps",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
# Gemma 3 has norms before and after each part: the norm after attention is not that before the feed-forward.
GEMMA3_NAMES = NAMES | {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
GEMMA4_NAMES = GEMMA3_NAMES | {
    "layer_scalar": "layer_output_scale",
    "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj",
    "post_per_layer_input_norm": "post_norm",
    "router": "ffn_gate_inp",
    "router.proj": "ffn_gate_inp",
    "experts.gate_up_proj": "ffn_gate_up_exps",
    "experts.down_proj": "ffn_down_exps",
    "post_feedforward_layernorm_1": "post_ffw_norm_1",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
    "post_feedforward_layernorm_2": "post_ffw_norm_2",
}
GLM4_NAMES = NAMES | {
    "post_self_attn_layernorm": "post_attention_norm",
    "post_mlp_layernorm": "post_ffw_norm",
}
QWEN35_NAMES = NAMES | {
    "post_attention_layernorm": "post_attention_norm",
    "linear_attn.in_proj_qkv": "attn_qkv",
    "linear_attn.in_proj_z": "attn_gate",
    "linear_attn.in_proj_b": "ssm_beta",
    "linear_attn.in_proj_a": "ssm_alpha",
    "linear_attn.conv1d": "ssm_conv1d",
    "linear_attn.norm": "ssm_norm",
    "linear_attn.out_proj": "ssm_out",
}
GPT_OSS_NAMES = NAMES | {"post_attention_layernorm": "post_attention_norm", "mlp.router": "ffn_gate_inp"}
LFM2_NAMES = NAMES | {
    "self_attn.out_proj": "attn_output",
    "self_attn.q_layernorm": "attn_q_norm",
    "self_attn.k_layernorm": "attn_k_norm",
    "operator_norm": "attn_norm",
    "ffn_norm": "ffn_norm",
    "conv.in_proj": "shortconv.in_proj",
    "conv.conv": "shortconv.conv",
    "conv.out_proj": "shortconv.out_proj",
    "feed_forward.w1": "ffn_gate",
    "feed_forward.w3": "ffn_up",
    "feed_forward.w2": "ffn_down",
    "feed_forward.gate": "ffn_gate_inp",
    "feed_forward.experts.w1": "ffn_gate_exps",
    "feed_forward.experts.w3": "ffn_up_exps",
    "feed_forward.experts.w2": "ffn_down_exps",
}
TOP_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
# llama.cpp's name of LFM2's last norm.
TOP_NAMES |= {"model.embedding_norm": "token_embd_norm"}
# Gemma 4's embeddings of every layer.
TOP_NAMES |= {
    "model.embed_tokens_per_layer": "per_layer_token_embd",
    "model.per_layer_model_projection": "per_layer_model_proj",
    "model.per_layer_projection_norm": "per_layer_proj_norm",
}
# Tensors of more than one dimension in f32.
IN_F32 = (".mlp.gate.weight", ".mlp.router.weight", ".feed_forward.gate.weight", ".router.proj.weight")
IN_F32 += (".bias", ".conv1d.weight", ".conv.conv.weight")


def gguf_name(name, names):
    stem, kind = name.rsplit(".", 1)
    if stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    if kind == "sinks":
        return f"blk.{layer}.attn_sinks.weight"
    if kind == "expert_bias":
        return f"blk.{layer}.exp_probs_b.bias"
    if kind in ("A_log", "dt_bias"):
        return f"blk.{layer}.ssm_a" if kind == "A_log" else f"blk.{layer}.ssm_dt.bias"
    return f"blk.{layer}.{names[part]}.{kind}"


def stacked(tensors):
    """The experts' projections of a layer as one tensor, `[experts, outputs, inputs]`."""
    whole, experts = {}, {}
    for name, tensor in tensors.items():
        if found := re.fullmatch(r"(.*\.experts)\.(\d+)\.(.*)", name):
            experts.setdefault(f"{found[1]}.{found[3]}", {})[int(found[2])] = tensor.numpy()
        else:
            whole[name] = tensor if isinstance(tensor, np.ndarray) else tensor.numpy()
    return whole | {name: np.stack([each[index] for index in range(len(each))]) for name, each in experts.items()}


def interleave(array, heads):
    """Rows of a q or k projection, or its bias, from halves to pairs: llama.cpp rotates neighbours for llama."""
    return array.reshape(heads, 2, array.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(array.shape)


def laid_out(key, array, architecture, config):
    """A tensor's numbers as the file has them."""
    if architecture in INTERLEAVED and ".q_proj" in key:
        array = interleave(array, config.num_attention_heads)
    if architecture in INTERLEAVED and ".k_proj" in key:
        array = interleave(array, config.num_key_value_heads)
    if architecture == "gemma3" and key.endswith("norm.weight"):
        array = array + 1  # transformers multiplies by 1 + w, llama.cpp by what the file says
    if architecture in DELTA:
        array = delta.laid_out(key, array, config)
    if key.endswith(".conv.conv.weight"):
        array = array.squeeze(1)
    if key.endswith(".shared_expert_gate.weight"):
        array = array.squeeze(0)
    return np.ascontiguousarray(array)


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


def add_rope(writer, architecture, config, dims):
    rope = config.rope_parameters.get("full_attention", config.rope_parameters)
    writer.add_rope_freq_base(rope["rope_theta"])
    if architecture == "phi3":
        writer.add_rope_dimension_count(int(rope.get("partial_rotary_factor", 1.0) * config.hidden_size)
                                        // config.num_attention_heads)  # fmt: skip
        writer.add_rope_scaling_orig_ctx_len(config.original_max_position_embeddings)
        writer.add_sliding_window(config.sliding_window or 0)
    elif architecture == "gemma3":
        # No key says which layers have the window: all but every sixth.
        writer.add_rope_freq_base_swa(config.rope_parameters["sliding_attention"]["rope_theta"])
        writer.add_sliding_window(config.sliding_window)
    elif architecture == "gpt-oss":
        # No key says which layers have the window, nor that borders of the ramp lie between pairs.
        writer.add_sliding_window(config.sliding_window)
    elif architecture == "olmo2":
        if hasattr(config, "sliding_window"):
            writer.add_rope_freq_base_swa(config.rope_parameters["sliding_attention"]["rope_theta"])
            writer.add_sliding_window(config.sliding_window)
            writer.add_sliding_window_pattern([of == "sliding_attention" for of in config.layer_types])
    elif architecture == "glm4":
        writer.add_rope_dimension_count(int(dims * rope["partial_rotary_factor"]))
    elif architecture not in ("qwen3", "gemma4", *EXPERTS, *DELTA, *LFM2):
        writer.add_rope_dimension_count(dims)
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    elif rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if architecture in ("gpt-oss", "olmo2"):
            writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        if architecture == "olmo2":
            writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
            writer.add_rope_scaling_yarn_attn_factor(rope["attention_factor"])
        if architecture == "mistral3":
            writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
            writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    elif rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config, dims))
    elif rope["rope_type"] == "longrope":
        original = config.original_max_position_embeddings
        ratio = config.max_position_embeddings / original
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(ratio) / math.log(original)))
        writer.add_tensor("rope_factors_long.weight", np.array(rope["long_factor"], dtype=np.float32))
        writer.add_tensor("rope_factors_short.weight", np.array(rope["short_factor"], dtype=np.float32))


def write_gguf(path, name, config, tensors, mxfp4, **options):
    """`mxfp4` are tensors of that type, as bytes."""
    architecture = ARCHITECTURES.get(config.model_type, config.model_type)
    names = dict(gemma3=GEMMA3_NAMES, qwen35=QWEN35_NAMES, qwen35moe=QWEN35_NAMES).get(architecture, NAMES)
    names = dict(olmo2=GEMMA3_NAMES, glm4=GLM4_NAMES, gemma4=GEMMA4_NAMES).get(architecture, names)
    names = GPT_OSS_NAMES if architecture == "gpt-oss" else LFM2_NAMES if architecture in LFM2 else names
    # Converters keep the block that predicts a second token.
    blocks = config.num_hidden_layers + (1 if architecture in DELTA else 0)
    dims = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer = gguf.GGUFWriter(str(path), architecture, **options)
    writer.add_type("model")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_block_count(blocks)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    if hasattr(config, "intermediate_size"):
        width = dict(gemma4=gemma4.widths, lfm2=lfm2.width, lfm2moe=lfm2.width).get(architecture)
        writer.add_feed_forward_length(width(config) if width else config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    kv_heads = dict(gemma4=gemma4.kv_heads, lfm2=lfm2.kv_heads, lfm2moe=lfm2.kv_heads).get(architecture)
    writer.add_head_count_kv(kv_heads(config) if kv_heads else config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if architecture == "smollm3":
        writer.add_vocab_size(config.vocab_size)
    if architecture == "granite":
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if architecture in EXPERTS:
        writer.add_expert_count(config.num_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        of_experts = "moe_intermediate_size" if hasattr(config, "moe_intermediate_size") else "intermediate_size"
        writer.add_expert_feed_forward_length(getattr(config, of_experts))
    if architecture == "qwen35moe":
        writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
    if architecture in LFM2:
        lfm2.add_fields(writer, config)
    if architecture == "gemma4":
        gemma4.add_fields(writer, config)
    with_head_size = ("qwen3", "gemma3", "mistral3", "glm4", *EXPERTS, *DELTA)
    if name in ("llama3", "mistral") or architecture in with_head_size and architecture not in LFM2:
        writer.add_key_length(dims)
        writer.add_value_length(dims)
    add_rope(writer, architecture, config, dims)
    if architecture in DELTA:
        delta.add_fields(writer, config, blocks)
        for unused in ("attn_norm", "nextn.enorm", "nextn.eh_proj"):
            writer.add_tensor(f"blk.{blocks - 1}.{unused}.weight", np.full(16, 7.0, dtype=np.float32))
    for key, array in stacked(tensors).items():
        array = laid_out(key, array, architecture, config)
        if array.ndim == 1 or key.endswith(IN_F32):
            writer.add_tensor(gguf_name(key, names), array)
        else:
            bf16 = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(gguf_name(key, names), gguf.quants.quantize(array, bf16), raw_dtype=bf16)
    for key, array in mxfp4.items():
        writer.add_tensor(gguf_name(key, names), array, raw_dtype=gguf.GGMLQuantizationType.MXFP4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
