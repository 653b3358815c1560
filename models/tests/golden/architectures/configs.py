"""The models that `make.py` makes: their configurations, and the seeds of their weights."""

import numpy as np
from transformers import (
    Gemma3TextConfig,
    Gemma4TextConfig,
    Glm4Config,
    GptOssConfig,
    GraniteConfig,
    Lfm2Config,
    Lfm2MoeConfig,
    LlamaConfig,
    Ministral3Config,
    MistralConfig,
    Olmo2Config,
    Olmo3Config,
    Phi3Config,
    Qwen2Config,
    Qwen3_5MoeTextConfig,
    Qwen3_5TextConfig,
    Qwen3Config,
    Qwen3MoeConfig,
    SmolLM3Config,
)

import delta

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
# Queries grow at positions 16, 32 and 48, more than published ones do.
MINISTRAL3_ROPE = dict(rope_theta=1e4, rope_type="yarn", factor=8.0, original_max_position_embeddings=16)
MINISTRAL3_ROPE |= dict(beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.4)
SHORT = [1.0 + 0.1 * pair for pair in range(12)]
LONG = [2.0 + 0.5 * pair for pair in range(12)]
ORIGINAL = 64
# Shorter than the sequences of 17 and 61 tokens.
WINDOW = 16
SLIDING, FULL = "sliding_attention", "full_attention"
GEMMA3_ROPE = {
    FULL: dict(rope_theta=1e6, rope_type="linear", factor=8.0),
    SLIDING: dict(rope_theta=10000.0, rope_type="default"),
}
QWEN3MOE_SIZES = dict(hidden_size=48, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16)
# The dense width is not the experts': no layer has it.
QWEN3MOE_SIZES |= dict(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32)
QWEN35_ROPE = dict(rope_theta=1e6, rope_type="default", partial_rotary_factor=0.25)
QWEN35_ROPE |= dict(mrope_section=[2, 1, 1], mrope_interleaved=True)
# The first pair is kept, the second is blended; with borders at whole pairs it would be blended less.
GPT_OSS_ROPE = dict(rope_theta=150000.0, rope_type="yarn", factor=8.0, original_max_position_embeddings=32)
GPT_OSS_ROPE |= dict(beta_fast=2.0, beta_slow=1.0, truncate=False)
# The magnitude is stated, as in published files, which converters write down.
OLMO3_ROPE = {
    FULL: dict(rope_theta=500000.0, **YARN, beta_fast=32.0, beta_slow=1.0, attention_factor=1 + 0.1 * float(np.log(8))),
    SLIDING: dict(rope_theta=500000.0, rope_type="default"),
}
OLMO_SIZES = dict(hidden_size=64, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2)
GRANITE_SCALES = dict(embedding_multiplier=3.0, attention_multiplier=0.4, residual_multiplier=0.5, logits_scaling=2.0)
GLM4_ROPE = dict(rope_theta=10000.0, rope_type="default", partial_rotary_factor=0.5)
LINEAR = "linear_attention"
# The last layer has a state: what it needs of rows whose logits are not wanted is more than keys and values.
QWEN35_LAYERS = 3 * [LINEAR] + [FULL, LINEAR]
QWEN35_SIZES = dict(hidden_size=48, intermediate_size=40, head_dim=32, num_hidden_layers=5)
QWEN35_SIZES |= dict(linear_key_head_dim=16, linear_value_head_dim=16, linear_conv_kernel_dim=4)
QWEN35MOE_LAYERS = [LINEAR, FULL, LINEAR]
QWEN35MOE_SIZES = {name: size for name, size in QWEN35_SIZES.items() if name != "intermediate_size"}
QWEN35MOE_SIZES |= dict(num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2)
QWEN35MOE_SIZES |= dict(linear_num_key_heads=2, linear_num_value_heads=4, num_experts=8, num_experts_per_tok=2)
# The shared expert is not as wide as the others.
QWEN35MOE_SIZES |= dict(moe_intermediate_size=32, shared_expert_intermediate_size=48)
CONV = "conv"
# The last layer has a state.
LFM2_LAYERS = [CONV, FULL, CONV, FULL, CONV]
LFM2MOE_LAYERS = [CONV, CONV, FULL, CONV]
GEMMA4_ROPE = {
    FULL: dict(rope_theta=1e6, rope_type="proportional", partial_rotary_factor=0.25),
    SLIDING: dict(rope_theta=10000.0, rope_type="default"),
}
GEMMA4_SIZES = dict(hidden_size=48, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16)
# transformers refuses to say the size of heads where it is not that of all layers, unless allowed to.
GEMMA4 = dict(allow_global_per_layer_attribute_access=True, rope_parameters=GEMMA4_ROPE)
GEMMA4 |= dict(tie_word_embeddings=True, sliding_window=WINDOW, vocab_size_per_layer_input=VOCAB)
GEMMA4_WRITTEN = dict(rope_parameters=GEMMA4_ROPE, use_bidirectional_attention=None, dtype="bfloat16")
# Those from layer 5 on share keys and values of layers 3 and 4.
GEMMA4_LAYERS = [SLIDING, SLIDING, FULL, SLIDING, FULL, SLIDING, SLIDING, FULL]
GEMMA4_OTHERS = dict(layer_types=GEMMA4_LAYERS, global_head_dim=32, num_global_key_value_heads=None)
GEMMA4_MOE_OTHERS = dict(layer_types=[SLIDING, FULL, SLIDING, FULL], global_head_dim=32, num_global_key_value_heads=1)
GEMMA4_IMAGES_OTHERS = dict(layer_types=[FULL, SLIDING, FULL], global_head_dim=32)
# Said of a field in a row's last column: config.json lacks it, as published files do.
ABSENT = object()
GEMMA3_LEFT_OUT = ("num_attention_heads", "num_key_value_heads", "max_position_embeddings", "rms_norm_eps")
GEMMA3_LEFT_OUT += ("query_pre_attn_scalar", "tie_word_embeddings", "hidden_activation", "attention_bias")
GEMMA3_LEFT_OUT += ("attn_logit_softcapping", "final_logit_softcapping")

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
    "ministral3": (
        Ministral3Config,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16),
        dict(tie_word_embeddings=False, sliding_window=None, rope_parameters=MINISTRAL3_ROPE),
        dict(rope_parameters=MINISTRAL3_ROPE),
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
    # The newer form. The scale is the head size's, which llama.cpp assumes; hidden / heads is 24.
    "gemma3": (
        Gemma3TextConfig,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, head_dim=32)
        | dict(num_hidden_layers=7),
        dict(query_pre_attn_scalar=32, sliding_window=WINDOW, rope_parameters=GEMMA3_ROPE),
        dict(rope_parameters=GEMMA3_ROPE, layer_types=5 * [SLIDING] + [FULL, SLIDING], _sliding_window_pattern=6)
        | dict(use_bidirectional_attention=False, dtype="bfloat16", torch_dtype=ABSENT),
    ),
    # The older form: numbers without a point, and a tied output that is not said. The published pattern is 6; 3 shows
    # whether the field is read. The scale is that of hidden / heads, as the 27B model's.
    "gemma3-scalar": (
        Gemma3TextConfig,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, head_dim=32)
        | dict(num_hidden_layers=4),
        dict(query_pre_attn_scalar=24, sliding_window=WINDOW, sliding_window_pattern=3)
        | dict(rope_parameters=GEMMA3_ROPE | {FULL: dict(rope_theta=1e6, rope_type="default")}),
        dict(rope_theta=1000000, rope_local_base_freq=10000, rope_scaling=None, sliding_window_pattern=3)
        | dict(tie_word_embeddings=ABSENT),
    ),
    "mistral-window": (
        MistralConfig,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, head_dim=32),
        dict(tie_word_embeddings=False, sliding_window=WINDOW)
        | dict(rope_parameters=dict(rope_theta=1e6, rope_type="default")),
        dict(rope_theta=1e6),
    ),
    "qwen2-window": (
        Qwen2Config,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=3),
        dict(tie_word_embeddings=True, use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1)
        | dict(rope_parameters=dict(rope_theta=1e6, rope_type="default")),
        dict(rope_theta=1e6),
    ),
    "phi3-window": (
        Phi3Config,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=3, num_key_value_heads=3),
        dict(tie_word_embeddings=False, sliding_window=WINDOW, original_max_position_embeddings=256)
        | dict(rope_parameters=dict(rope_theta=10000.0, rope_type="default")),
        dict(rope_theta=10000.0, rope_scaling=None),
    ),
    "smollm3": (
        SmolLM3Config,
        dict(hidden_size=64, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4),
        dict(tie_word_embeddings=True, rope_parameters=dict(rope_theta=5e6, rope_type="default")),
        dict(rope_theta=5e6, rope_scaling=None),
    ),
    "qwen3moe": (
        Qwen3MoeConfig,
        QWEN3MOE_SIZES,
        dict(tie_word_embeddings=False, norm_topk_prob=True)
        | dict(rope_parameters=dict(rope_theta=1e6, rope_type="default")),
        dict(rope_theta=1e6, rope_scaling=None),
    ),
    "qwen3moe-plain": (
        Qwen3MoeConfig,
        QWEN3MOE_SIZES,
        dict(tie_word_embeddings=False, norm_topk_prob=False)
        | dict(rope_parameters=dict(rope_theta=1e6, rope_type="default")),
        dict(rope_theta=1e6, rope_scaling=None),
    ),
    "qwen35": (
        Qwen3_5TextConfig,
        QWEN35_SIZES | dict(num_attention_heads=4, num_key_value_heads=2)
        | dict(linear_num_key_heads=2, linear_num_value_heads=6),
        dict(tie_word_embeddings=True, layer_types=QWEN35_LAYERS, rope_parameters=QWEN35_ROPE),
        dict(rope_parameters=QWEN35_ROPE, layer_types=QWEN35_LAYERS),
    ),
    "qwen35moe": (
        Qwen3_5MoeTextConfig,
        QWEN35MOE_SIZES,
        dict(tie_word_embeddings=False, layer_types=QWEN35MOE_LAYERS, rope_parameters=QWEN35_ROPE),
        dict(rope_parameters=QWEN35_ROPE, layer_types=QWEN35MOE_LAYERS),
    ),
    "gpt-oss": (
        GptOssConfig,
        dict(hidden_size=64, intermediate_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=16)
        | dict(num_hidden_layers=3, num_local_experts=8, num_experts_per_tok=4),
        dict(tie_word_embeddings=False, sliding_window=WINDOW, rope_parameters=GPT_OSS_ROPE),
        # As published.
        dict(rope_theta=150000, rope_scaling={k: v for k, v in GPT_OSS_ROPE.items() if k != "rope_theta"})
        | dict(layer_types=[SLIDING, FULL, SLIDING], num_experts=ABSENT, quantization_config=dict(quant_method="mxfp4")),
    ),
    "olmo2": (
        Olmo2Config,
        OLMO_SIZES,
        dict(tie_word_embeddings=False, rope_parameters=dict(rope_theta=500000.0, rope_type="default")),
        dict(rope_theta=500000.0, rope_scaling=None),
    ),
    "olmo3": (
        Olmo3Config,
        OLMO_SIZES | dict(num_hidden_layers=5),
        dict(tie_word_embeddings=False, sliding_window=WINDOW, rope_parameters=OLMO3_ROPE),
        dict(rope_parameters=OLMO3_ROPE, layer_types=[*3 * [SLIDING], FULL, SLIDING]),
    ),
    "granite": (
        GraniteConfig,
        OLMO_SIZES,
        dict(tie_word_embeddings=True, rope_parameters=dict(rope_theta=10000.0, rope_type="default")) | GRANITE_SCALES,
        dict(rope_theta=10000.0, rope_scaling=None),
    ),
    "glm4": (
        Glm4Config,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=32),
        dict(tie_word_embeddings=False, rope_parameters=GLM4_ROPE),
        dict(rope_theta=10000.0, partial_rotary_factor=0.5),
    ),
    # The older form: two thirds of the stated width, rounded up to 64.
    "lfm2": (
        Lfm2Config,
        dict(hidden_size=48, intermediate_size=72, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=5),
        dict(norm_eps=1e-4, layer_types=LFM2_LAYERS, block_multiple_of=32, conv_L_cache=3, tie_word_embeddings=True)
        | dict(rope_parameters=dict(rope_theta=1e6, rope_type="default")),
        dict(block_ff_dim=72, full_attn_idxs=[1, 3], rope_theta=1e6, intermediate_size=ABSENT, rms_norm_eps=ABSENT)
        | dict(tie_word_embeddings=ABSENT),
    ),
    "lfm2moe": (
        Lfm2MoeConfig,
        dict(hidden_size=64, intermediate_size=80, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4)
        | dict(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, num_dense_layers=1),
        dict(norm_eps=1e-4, layer_types=LFM2MOE_LAYERS, conv_L_cache=4, tie_word_embeddings=False, norm_topk_prob=True)
        | dict(rope_parameters=dict(rope_theta=5e6, rope_type="default")),
        dict(rope_parameters=dict(rope_theta=5e6, rope_type="default"), layer_types=LFM2MOE_LAYERS, rms_norm_eps=ABSENT),
    ),
    # Layers by their interval, and a part of a head that is rotated by default.
    "qwen35-images": (
        Qwen3_5TextConfig,
        QWEN35_SIZES | dict(num_attention_heads=2, num_key_value_heads=1)
        | dict(linear_num_key_heads=4, linear_num_value_heads=4),
        dict(tie_word_embeddings=False, layer_types=QWEN35_LAYERS, rope_parameters=QWEN35_ROPE),
        dict(rope_parameters={k: v for k, v in QWEN35_ROPE.items() if k != "partial_rotary_factor"})
        | dict(full_attention_interval=4, mtp_num_hidden_layers=1),
    ),
    "gemma4": (
        Gemma4TextConfig,
        GEMMA4_SIZES | dict(num_hidden_layers=8, num_kv_shared_layers=3, hidden_size_per_layer_input=16),
        GEMMA4 | GEMMA4_OTHERS | dict(use_double_wide_mlp=True, final_logit_softcapping=30.0),
        GEMMA4_WRITTEN | GEMMA4_OTHERS | dict(torch_dtype=ABSENT),
    ),
    "gemma4-moe": (
        Gemma4TextConfig,
        GEMMA4_SIZES | dict(num_hidden_layers=4, hidden_size_per_layer_input=0)
        | dict(num_experts=8, top_k_experts=2, moe_intermediate_size=32),
        GEMMA4 | GEMMA4_MOE_OTHERS | dict(attention_k_eq_v=True, enable_moe_block=True),
        GEMMA4_WRITTEN | GEMMA4_MOE_OTHERS | dict(torch_dtype=ABSENT),
    ),
    # Heads are as large in full layers.
    "gemma4-images": (
        Gemma4TextConfig,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=2, num_key_value_heads=1, head_dim=32)
        | dict(num_hidden_layers=3, hidden_size_per_layer_input=0),
        GEMMA4 | GEMMA4_IMAGES_OTHERS | dict(final_logit_softcapping=30.0),
        GEMMA4_WRITTEN | GEMMA4_IMAGES_OTHERS | dict(torch_dtype=ABSENT),
    ),
    # Published files of 4B and more leave out what is the class's default; a head would be 256 wide.
    "gemma3-images": (
        Gemma3TextConfig,
        dict(hidden_size=32, intermediate_size=40, num_attention_heads=8, num_key_value_heads=4, head_dim=16)
        | dict(num_hidden_layers=6, rms_norm_eps=1e-6, max_position_embeddings=131072),
        dict(query_pre_attn_scalar=256, sliding_window=WINDOW, rope_parameters=GEMMA3_ROPE),
        dict(rope_scaling=dict(rope_type="linear", factor=8.0)) | {name: ABSENT for name in GEMMA3_LEFT_OUT},
    ),
    "ministral3-images": (
        Ministral3Config,
        dict(hidden_size=48, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16),
        dict(tie_word_embeddings=False, sliding_window=None, rope_parameters=MINISTRAL3_ROPE),
        dict(rope_parameters=MINISTRAL3_ROPE),
    ),
}  # fmt: skip

FOLDER_ONLY = ("gemma3-scalar", "mistral-window", "qwen2-window", "qwen3moe-plain", "qwen35-images", "gemma4-images")
FOLDER_ONLY += ("gemma3-images", "ministral3-images")
# Seeds whose continuation leaves no step to a near tie and does not end in a short loop, nor any choice of experts to a
# near tie. Other models count from 31.
SEEDS = {
    "gemma3": 503,
    "gemma3-scalar": 401,
    "ministral3": 572,
    "mistral-window": 7072,
    "qwen2-window": 3243,
    "phi3-window": 1339,
    "smollm3": 533,
    "qwen3moe": 81231,
    "qwen3moe-plain": 22844,
    "gpt-oss": 146,
    "qwen35": 28,
    "qwen35-images": 208,
    "qwen35moe": 409,
    "olmo2": 279,
    "olmo3": 2132,
    "granite": 216,
    "glm4": 496,
    "lfm2": 29,
    "lfm2moe": 345,
    "gemma4": 117,
    "gemma4-moe": 120,
    "gemma4-images": 332,
    "gemma3-images": 270,
    "ministral3-images": 1614,
    "llama3": 110,
    "qwen3": 498,
}

# Norms multiply by one more than their numbers.
LESS_ONE = ("gemma3_text", *delta.MODEL_TYPES)
