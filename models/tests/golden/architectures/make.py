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
    | gemma4         | 4 x 16 and 32 of 48    | tied   | on 1/4 of a head if full    | shared keys, layers' embeddings    |
    | gemma4-moe     | 4 x 16 and 32 of 48    | tied   | on 1/4 of a head if full    | values from keys, 2 of 8 experts   |
    | gemma4-images  | 2 x 32 of 48           | tied   | on 1/4 of a head if full    | folder only: images and sound      |
    | gemma3-images  | 8 x 16 of 32           | tied   | linear, full layers only    | folder only: images, few fields    |

ministral3-images is ministral3 with a part for images, as a folder only.

A window is 16 positions wide. GGUF has no key for the window of llama and qwen2 nor for the scale of Gemma 3's scores, so
these models are folders only. llama.cpp reads the window of phi3 and ignores it;
transformers does not. llama.cpp divides the weights of the experts of qwen3moe by their sum, whatever a file says. It
caps the logits of gemma4 at 30 where no key says at what; gemma4-moe has no cap, and no key. The folder of gemma4 has
projections of keys and values in layers that share those of others, as Google's first files do; its GGUF has none, as
later files do.

The models of SEEDS also have `greedy.1`, the continuation of `ids.1` by the most likely token at every step.

`check_sensitivity` of slips.py asserts that a slip in each of these moves the logits by far more than the tests' tolerance.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, Mxfp4Config, logging

import delta
import experts
import gemma4
import gpt_oss
import images
import lfm2
from configs import ABSENT, FOLDER_ONLY, LENGTHS, LESS_ONE, MODELS, SEEDS, SHARED, VOCAB
from gguf_layout import write_gguf
from slips import check_sensitivity, logits_of

HERE = Path(__file__).parent
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
    "hidden_size_per_layer_input vocab_size_per_layer_input num_kv_shared_layers use_double_wide_mlp attention_k_eq_v "
    "enable_moe_block top_k_experts "
    "embedding_multiplier attention_multiplier residual_multiplier logits_scaling "
    "linear_conv_kernel_dim linear_key_head_dim linear_value_head_dim linear_num_key_heads linear_num_value_heads"
).split()


def norm_scale(name, noise, continued, config):
    """What a norm multiplies by. In a model to be continued, the last norm's numbers have either sign: otherwise a token
    of tied embeddings is its own likely continuation. Its attention is sharper, or the continuation is soon a loop.
    """
    if continued and name == "model.norm.weight":
        return 1.2 * noise
    if not (continued and ("q_norm" in name or "k_norm" in name)):
        return 1.0 + 0.3 * noise
    # Scores may be divided by more than the root of a head's width.
    scalar = getattr(config, "query_pre_attn_scalar", None)
    divided = max(1.0, scalar / config.head_dim) if scalar else 1.0
    return 1.6 * divided**0.25 + 0.3 * noise


def drawn(name, noise, config, continued):
    """A parameter's numbers, from normal ones."""
    if config.model_type in delta.MODEL_TYPES and (numbers := delta.drawn(name, noise)) is not None:
        return numbers
    if config.model_type == gpt_oss.MODEL_TYPE and (numbers := gpt_oss.drawn(name, noise)) is not None:
        return numbers
    if config.model_type in lfm2.MODEL_TYPES and (numbers := lfm2.drawn(name, noise)) is not None:
        return numbers
    if config.model_type == gemma4.MODEL_TYPE and (numbers := gemma4.drawn(name, noise)) is not None:
        return numbers
    if "norm" in name:
        return norm_scale(name, noise, continued, config) - (1.0 if config.model_type in LESS_ONE else 0.0)
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
        drawn_too = (lfm2.BIAS, gemma4.SCALAR)
        buffers = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith(drawn_too)]
        for name, parameter in sorted([*model.named_parameters(), *buffers]):
            noise = generator.standard_normal(tuple(parameter.shape))
            value = drawn(name, noise, config, continued)
            parameter.copy_(torch.from_numpy(value).to(torch.bfloat16))
    return model


# Published with the experts of a layer in one tensor.
FUSED_EXPERTS = ("qwen3_5_moe_text", gpt_oss.MODEL_TYPE, gemma4.MODEL_TYPE)


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
    if model.config.model_type == gemma4.MODEL_TYPE:
        state = gemma4.in_folder(state, model.config)
    if folder.name == "gemma4-images":
        fields, state = gemma4.with_images(fields, state)
    if folder.name in images.FORMS:
        fields, state = images.FORMS[folder.name](fields, state)
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    save_torch(state, str(folder / "model.safetensors"), metadata={"format": "pt"})


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
    kind = AutoModelForImageTextToText if folder.name == images.MINISTRAL3 else AutoModelForCausalLM
    form = kind.from_pretrained(folder, **options).eval().float()
    for number in range(len(LENGTHS)):
        found = logits_of(form, tensors[f"ids.{number}"].tolist())
        assert np.abs(found - tensors[f"logits.{number}"]).max() < 1e-5, folder


def main(names):
    torch.set_num_threads(1)
    logging.set_verbosity_error()  # of what parts for images lack, among others
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
            elif model.config.model_type == gemma4.MODEL_TYPE:
                numbers = gemma4.in_gguf(numbers)
            else:
                numbers = experts.separate(numbers)
            write_gguf(HERE / f"{name}.gguf", name, model.config, numbers, blocks)
        if name == "qwen3":
            shutil.rmtree(HERE / "split", ignore_errors=True)
            (HERE / "split").mkdir()
            write_gguf(HERE / "split" / "qwen3.gguf", name, model.config, stored(model), {}, split_max_tensors=9)
        tensors = write_expected(HERE / name / "expected.safetensors", model, seed + 100, name in SEEDS)
        check_loads(HERE / name, tensors)
        if getattr(model.config, "num_experts", None):
            ids = [tensors[f"ids.{number}"].tolist() for number in range(len(LENGTHS))]
            experts.check_routing(name, model, ids, ids[1] + tensors["greedy.1"].tolist())
        check_sensitivity(name, model, tensors)


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(MODELS)
    if unknown := sorted(set(chosen) - set(MODELS)):
        sys.exit(f"{', '.join(unknown)}: not in MODELS ({', '.join(MODELS)})")
    main(chosen)
