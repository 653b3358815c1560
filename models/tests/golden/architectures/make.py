"""Make a tiny random model of every architecture and form of rope scaling, and what Hugging Face transformers says of it.

    python make.py [NAME ...]    # writes beside this file, all models or those named; needs torch, transformers, gguf,
                                 # safetensors

Per model: `<name>/` with config.json, bfloat16 safetensors and expected.safetensors, and `<name>.gguf` with the same
weights as llama.cpp's converter would lay them out. There are no tokenizers: `../tiny` has models that are complete.
`split/` is `qwen3.gguf` again, in three files.

What the models cover between them (`../tiny` has llama and qwen2 without any of it):

    |                | heads x size of hidden | output | rope                        | besides                            |
    |----------------|------------------------|--------|-----------------------------|------------------------------------|
    | llama3         | 4 x 16 of 48           | tied   | llama3, beyond the original | rope_freqs tensor in the GGUF      |
    | llama-linear   | 2 x 16 of 32           | own    | linear                      | biases on q, k, v and o            |
    | mistral        | 2 x 32 of 48           | own    | plain                       | the GGUF says llama                |
    | ministral3     | 4 x 16 of 48           | own    | yarn, its magnitude is 1    | queries grow with their position   |
    | qwen3          | 4 x 16 of 32           | tied   | plain                       | norms of queries and keys          |
    | qwen3-yarn     | 4 x 16 of 32           | own    | yarn                        | norms of queries and keys          |
    | phi3           | 3 x 16 of 48           | own    | plain                       | fused, a sliding window            |
    | phi3-long      | 2 x 32 of 64           | tied   | longrope on 3/4 of a head   | fused                              |
    | gemma3         | 2 x 32 of 48           | tied   | linear, full layers only    | windows, two bases, six norms      |
    | gemma3-scalar  | 2 x 32 of 48           | tied   | plain                       | folder only: a scalar of its own   |
    | mistral-window | 2 x 32 of 48           | own    | plain                       | folder only: windows               |
    | qwen2-window   | 3 x 16 of 48           | tied   | plain                       | folder only: windows but layer 0   |
    | phi3-window    | 3 x 16 of 48           | own    | plain                       | fused, windows                     |
    | smollm3        | 4 x 16 of 64           | tied   | plain, none on layer 3      | the GGUF's q and k are interleaved |
    | qwen3moe       | 4 x 16 of 48           | own    | plain                       | 2 of 8 experts, weights sum to one |
    | qwen3moe-plain | 4 x 16 of 48           | own    | plain                       | folder only: weights do not        |
    | qwen35         | 4 x 32 of 48           | tied   | plain, on 1/4 of a head     | states of 6 heads by 2 keys        |
    | qwen35moe      | 4 x 32 of 48           | own    | plain, on 1/4 of a head     | 2 of 8 experts and a shared one    |
    | gpt-oss        | 4 x 16 of 64           | own    | yarn, not of whole pairs    | sinks, windows, 4 of 8 experts     |
    | olmo2          | 4 x 16 of 64           | own    | plain                       | norms behind, q and k normed whole |
    | olmo3          | 4 x 16 of 64           | own    | yarn, full layers only      | as olmo2, windows; GGUF says olmo2 |
    | granite        | 4 x 16 of 64           | tied   | plain                       | four factors; q and k interleaved  |
    | glm4           | 4 x 32 of 48           | own    | neighbours in 1/2 of a head | four norms, biases, fused gate, up |
    | lfm2           | 3 x 16 of 48           | tied   | plain                       | convolutions of 3, width rounded   |
    | lfm2moe        | 4 x 16 of 64           | own    | plain                       | of 4, 2 of 8 experts behind one    |
    | qwen35-images  | 2 x 32 of 48           | own    | plain, on 1/4 of a head     | folder only: as many keys, images  |

A window is 16 positions wide. GGUF has no key for the window of llama and qwen2 nor for the scale of Gemma 3's scores, so
these models are folders only. llama.cpp reads the window of phi3 and ignores it;
transformers does not. llama.cpp divides the weights of the experts of qwen3moe by their sum, whatever a file says.

The models of SEEDS also have `greedy.1`, the continuation of `ids.1` by the most likely token at every step.

`check_sensitivity` asserts that a slip in each of these moves the logits by far more than the tests' tolerance.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    Glm4Config,
    GptOssConfig,
    GraniteConfig,
    Lfm2Config,
    Lfm2MoeConfig,
    LlamaConfig,
    Ministral3Config,
    MistralConfig,
    Mxfp4Config,
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
import experts
import gpt_oss
import lfm2
import norms_and_scales
from gguf_layout import write_gguf

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
# Said of a field in a row's last column: config.json lacks it, as published files do.
ABSENT = object()

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
}  # fmt: skip

FOLDER_ONLY = ("gemma3-scalar", "mistral-window", "qwen2-window", "qwen3moe-plain", "qwen35-images")
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
}
STEPS = 200
# Standard deviation of a router's logits, about: few of its choices are near ties.
ROUTER = 6.0

# Fields that the decoder's forward depends on, besides those of MODELS; what a published config.json says too.
WRITTEN = (
    "model_type vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads "
    "head_dim max_position_embeddings rms_norm_eps hidden_act tie_word_embeddings attention_bias mlp_bias "
    "sliding_window use_sliding_window max_window_layers bos_token_id eos_token_id pad_token_id "
    "hidden_activation query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping "
    "no_rope_layers no_rope_layer_interval "
    "decoder_sparse_step mlp_only_layers num_experts num_experts_per_tok moe_intermediate_size norm_topk_prob shared_expert_intermediate_size "
    "num_local_experts swiglu_limit "
    "norm_eps conv_L_cache conv_bias block_multiple_of block_ffn_dim_multiplier block_auto_adjust_ff_dim "
    "num_dense_layers use_expert_bias routed_scaling_factor "
    "embedding_multiplier attention_multiplier residual_multiplier logits_scaling "
    "linear_conv_kernel_dim linear_key_head_dim linear_value_head_dim linear_num_key_heads linear_num_value_heads"
).split()


def norm_scale(name, noise, continued):
    """What a norm multiplies by. In a model to be continued, the last norm's numbers have either sign: otherwise a token
    of tied embeddings is its own likely continuation. Its attention is sharper, or the continuation is soon a loop.
    """
    if continued and name == "model.norm.weight":
        return 1.2 * noise
    return (1.6 if continued and ("q_norm" in name or "k_norm" in name) else 1.0) + 0.3 * noise


# Norms multiply by one more than their numbers.
LESS_ONE = ("gemma3_text", *delta.MODEL_TYPES)


def drawn(name, noise, config, continued):
    """A parameter's numbers, from normal ones."""
    if config.model_type in delta.MODEL_TYPES and (numbers := delta.drawn(name, noise)) is not None:
        return numbers
    if config.model_type == gpt_oss.MODEL_TYPE and (numbers := gpt_oss.drawn(name, noise)) is not None:
        return numbers
    if config.model_type in lfm2.MODEL_TYPES and (numbers := lfm2.drawn(name, noise)) is not None:
        return numbers
    if "norm" in name:
        return norm_scale(name, noise, continued) - (1.0 if config.model_type in LESS_ONE else 0.0)
    if name.endswith(".bias"):
        return 0.5 * noise
    if "embed_tokens" in name:
        return 0.2 * noise
    scale = ROUTER if name.endswith(".mlp.gate.weight") else 1.6 if ".q" in name or ".k" in name else 1.0
    return scale * noise / np.sqrt(noise.shape[-1])


def random_model(config, seed, continued):
    """The model in f32, every weight a bfloat16 number, drawn large enough that attention is far from uniform."""
    generator = np.random.Generator(np.random.PCG64(seed))
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        buffers = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith(lfm2.BIAS)]
        for name, parameter in sorted([*model.named_parameters(), *buffers]):
            noise = generator.standard_normal(tuple(parameter.shape))
            value = drawn(name, noise, config, continued)
            parameter.copy_(torch.from_numpy(value).to(torch.bfloat16))
    return model


# Published with the experts of a layer in one tensor.
FUSED_EXPERTS = ("qwen3_5_moe_text", gpt_oss.MODEL_TYPE)


def stored(model):
    """The tensors a checkpoint holds, the experts of a layer in one: a tied output projection is not among them."""
    state = {name: tensor.detach().clone().contiguous() for name, tensor in sorted(model.state_dict().items())}
    if model.config.tie_word_embeddings:
        del state["lm_head.weight"]
    return state


def write_folder(folder, model, rope):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    fields = {name: getattr(model.config, name) for name in WRITTEN if hasattr(model.config, name)}
    fields |= dict(architectures=[type(model).__name__], torch_dtype="bfloat16") | rope
    fields = {name: value for name, value in fields.items() if value is not ABSENT}
    if model.config.model_type == gpt_oss.MODEL_TYPE:
        state = gpt_oss.in_folder(stored(model))
    else:
        state = {name: tensor.to(torch.bfloat16) for name, tensor in stored(model).items()}
    if model.config.model_type not in FUSED_EXPERTS:
        state = experts.separate(state)
    fields = dict(sorted(fields.items()))
    if folder.name == "qwen35-images":
        fields, state = delta.with_images(fields, state)
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    save_torch(state, str(folder / "model.safetensors"), metadata={"format": "pt"})


@torch.no_grad()
def logits_of(model, ids):
    return model(torch.tensor([ids])).logits[0].float().numpy()


def greedy(model, ids):
    """The continuation by the most likely token, and the smallest distance to the second at any step."""
    ids, prompt, gap = list(ids), len(ids), float("inf")
    for _ in range(STEPS):
        last = logits_of(model, ids)[-1]
        second, first = np.sort(last)[-2:]
        gap = min(gap, float(first - second))
        ids.append(int(last.argmax()))
    return ids[prompt:], gap


def write_expected(path, model, seed, continued):
    """`ids.N` u32 [len] and `logits.N` f32 [len, vocab] at every position; `greedy.1` u32 [STEPS] where `continued`."""
    generator = np.random.Generator(np.random.PCG64(seed))
    tensors = {}
    for number, length in enumerate(LENGTHS):
        ids = generator.integers(0, VOCAB, length)
        tensors[f"ids.{number}"] = ids.astype(np.uint32)
        tensors[f"logits.{number}"] = logits_of(model, ids.tolist()).astype(np.float32)
    if continued:
        tokens, gap = greedy(model, tensors["ids.1"].tolist())
        print(path.parent.name, "greedy: distance to the second", round(gap, 3), "tokens", len(set(tokens)))
        assert gap > 0.02
        tensors["greedy.1"] = np.array(tokens, dtype=np.uint32)
    save_file(tensors, str(path))
    return tensors


def check_loads(folder, tensors):
    """config.json, read back in its own form, gives the same model."""
    options = dict(dtype=torch.float32, attn_implementation="eager")
    if (folder / "config.json").read_text(encoding="utf-8").find('"mxfp4"') >= 0:
        options["quantization_config"] = Mxfp4Config(dequantize=True)
    form = AutoModelForCausalLM.from_pretrained(folder, **options).eval().float()
    for number in range(len(LENGTHS)):
        found = logits_of(form, tensors[f"ids.{number}"].tolist())
        assert np.abs(found - tensors[f"logits.{number}"]).max() < 1e-5, folder


def change(model, fields, edit):
    """The same weights under other fields of the configuration, or with another edit."""
    config = type(model.config)(**{**model.config.to_dict(), **fields})
    other = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        edit(other)
    return other


def same(model):
    """The edit of a slip that lies in the fields."""


def filled(parameter, value):
    return lambda model: model.get_parameter(parameter).fill_(value)


def without(norm):
    def edit(model):
        for layer in model.model.layers:
            setattr(layer, norm, torch.nn.Identity())

    return edit


def rope_slips(rope):
    """Other rotations than those of `rope`, which is one set of parameters, or one per type of layer."""
    if FULL not in rope:
        changed = {"base": rope | dict(rope_theta=rope["rope_theta"] * 7)}
        if rope["rope_type"] != "default":
            changed["no scaling"] = dict(rope_theta=rope["rope_theta"], rope_type="default")
        if rope["rope_type"] == "longrope":
            changed["magnitude"] = rope | dict(attention_factor=1.0)
        return changed
    full, sliding = rope[FULL], rope[SLIDING]
    changed = {
        "base": {FULL: full | dict(rope_theta=full["rope_theta"] * 7), SLIDING: sliding},
        "local base": {FULL: full, SLIDING: sliding | dict(rope_theta=sliding["rope_theta"] * 7)},
    }
    if full["rope_theta"] != sliding["rope_theta"]:
        changed["one base"] = {FULL: full, SLIDING: sliding | dict(rope_theta=full["rope_theta"])}
    if full["rope_type"] != "default":
        changed["no scaling"] = {FULL: dict(rope_theta=full["rope_theta"], rope_type="default"), SLIDING: sliding}
        changed["scaling everywhere"] = {FULL: full, SLIDING: full | dict(rope_theta=sliding["rope_theta"])}
    return changed


def window_slips(config):
    widths = {"no window": 256, "window + 1": WINDOW + 1, "window - 1": WINDOW - 1}
    slips = {name: dict(sliding_window=width) for name, width in widths.items()}
    if len(set(getattr(config, "layer_types", ()))) > 1:
        if config.layer_types != config.layer_types[::-1]:
            slips["layers reversed"] = dict(layer_types=config.layer_types[::-1])
        slips["windows everywhere"] = dict(layer_types=len(config.layer_types) * [SLIDING])
    return slips


def gemma3_slips(config):
    def unscaled(model):
        model.model.embed_tokens.embed_scale.fill_(1.0)

    def plain_norms(model):
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter -= 1.0

    other = 24 if config.query_pre_attn_scalar == config.head_dim else config.head_dim
    return {
        "silu": (dict(hidden_activation="silu"), same),
        "scalar": (dict(query_pre_attn_scalar=other), same),
        "no embedding scale": ({}, unscaled),
        "norms without the one": ({}, plain_norms),
        "no norm before feed-forward": ({}, without("pre_feedforward_layernorm")),
    }


def slips_of(name, model):
    """What a decoder may get wrong: fields of another configuration, and an edit of the model."""
    config, attention = model.config, "model.layers.0.self_attn"
    changed = {slip: dict(rope_parameters=rope) for slip, rope in rope_slips(config.rope_parameters).items()}
    if getattr(config, "sliding_window", None) == WINDOW:
        changed |= window_slips(config)
    if name == "ministral3":
        rope = config.rope_parameters
        changed["no scaling"] = dict(rope_parameters=rope | dict(rope_type="default"))
        changed["magnitude"] = dict(rope_parameters=rope | dict(attention_factor=1.2))
        changed["queries do not grow"] = dict(rope_parameters=rope | dict(llama_4_scaling_beta=0.0))
        changed["queries grow later"] = dict(rope_parameters=rope | dict(original_max_position_embeddings=32))
    if name == "smollm3":
        changed["all rotated"] = dict(no_rope_layers=[1, 1, 1, 1])
        changed["first not rotated"] = dict(no_rope_layers=[0, 1, 1, 1])
    slips = {slip: (fields, same) for slip, fields in changed.items()}
    if config.model_type in delta.MODEL_TYPES:
        attention = delta.attention_of(config)
        slips |= delta.slips(config, same)
    if config.model_type in lfm2.MODEL_TYPES:
        attention = delta.attention_of(config)
        slips |= lfm2.slips(config, same)
    neutral = 0.0 if config.model_type in LESS_ONE else 1.0
    for tensor in model.state_dict():
        if tensor.startswith(attention) and ("norm" in tensor or "bias" in tensor):
            slips[tensor] = ({}, filled(tensor, neutral if "norm" in tensor else 0.0))
    if config.model_type == "gemma3_text":
        slips["no norm after attention"] = ({}, without("post_attention_layernorm"))
        slips["no norm after feed-forward"] = ({}, without("post_feedforward_layernorm"))
    if config.model_type == "gemma3_text":
        slips |= gemma3_slips(config)
    slips |= norms_and_scales.slips(config, same, without)
    if config.model_type in ("phi3", "glm4"):

        def swap(model):
            gate_up = model.get_parameter("model.layers.0.mlp.gate_up_proj.weight")
            gate_up.copy_(torch.cat(list(reversed(gate_up.clone().chunk(2)))))

        slips["gate and up"] = ({}, swap)
    if config.model_type == gpt_oss.MODEL_TYPE:
        slips |= gpt_oss.slips(config, same)
    elif hasattr(config, "num_experts"):
        slips |= experts.slips(config, same)
    return slips


def check_sensitivity(name, model, tensors):
    ids, expected = tensors["ids.2"].tolist(), tensors["logits.2"]
    changes = {}
    for slip, (fields, edit) in slips_of(name, model).items():
        changes[slip] = float(np.abs(logits_of(change(model, fields, edit), ids) - expected).max())
    print(name, "logits' spread", round(float(expected.std()), 2), {k: round(v, 3) for k, v in changes.items()})
    assert min(changes.values()) > 0.02


def main(names):
    torch.set_num_threads(1)
    for number, (name, (kind, sizes, fields, rope)) in enumerate(MODELS.items(), start=31):
        if name not in names:
            continue
        seed = SEEDS.get(name, number)
        model = random_model(kind(**SHARED | sizes | fields), seed, name in SEEDS)
        write_folder(HERE / name, model, rope)
        if name not in FOLDER_ONLY:
            numbers, blocks = stored(model), {}
            if model.config.model_type == gpt_oss.MODEL_TYPE:
                numbers, blocks = gpt_oss.in_gguf(numbers)
            else:
                numbers = experts.separate(numbers)
            write_gguf(HERE / f"{name}.gguf", name, model.config, numbers, blocks)
        if name == "qwen3":
            shutil.rmtree(HERE / "split", ignore_errors=True)
            (HERE / "split").mkdir()
            write_gguf(HERE / "split" / "qwen3.gguf", name, model.config, stored(model), {}, split_max_tensors=9)
        tensors = write_expected(HERE / name / "expected.safetensors", model, seed + 100, name in SEEDS)
        check_loads(HERE / name, tensors)
        if hasattr(model.config, "num_experts"):
            ids = [tensors[f"ids.{number}"].tolist() for number in range(len(LENGTHS))]
            experts.check_routing(name, model, ids, ids[1] + tensors["greedy.1"].tolist())
        check_sensitivity(name, model, tensors)


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(MODELS)
    if unknown := sorted(set(chosen) - set(MODELS)):
        sys.exit(f"{', '.join(unknown)}: not in MODELS ({', '.join(MODELS)})")
    main(chosen)
