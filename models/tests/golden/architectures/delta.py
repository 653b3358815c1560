"""Gated delta nets of Qwen3.5: their parameters, the folder of a model with images, and what `make.py` checks of them."""

import numpy as np
import torch

MODEL_TYPES = ("qwen3_5_text", "qwen3_5_moe_text")


def drawn(name, noise):
    """The numbers of a parameter that is no projection, or None for those that other models have too."""
    if name.endswith(".A_log"):
        return 0.7 * noise - 1.5  # a state decays to a half in some ten tokens
    if name.endswith(".dt_bias"):
        return 0.5 * noise
    if name == "model.norm.weight":
        return 4.0 * noise - 1.0  # of either sign, as in other models to be continued; wide, so that fewer steps are near ties
    if name.endswith(".linear_attn.norm.weight"):
        return 1.0 + 0.3 * noise
    return None


def tiled(array, config, dim=0):
    """Heads of values, or the rows of each, from those of a key after one another to each key's first, second, ..."""
    keys, heads = config.linear_num_key_heads, config.linear_num_value_heads
    array = np.moveaxis(array, dim, 0)
    by_key = array.reshape(keys, heads // keys, array.shape[0] // heads, *array.shape[1:])
    return np.moveaxis(by_key.swapaxes(0, 1).reshape(array.shape), 0, dim)


def laid_out(key, array, config):
    """A tensor's numbers as llama.cpp's converter writes them."""
    qk = 2 * config.linear_num_key_heads * config.linear_key_head_dim
    if key.endswith("norm.weight") and not key.endswith("linear_attn.norm.weight"):
        return array + 1
    if key.endswith(".A_log"):
        array = -np.exp(array)
    if key.endswith(".conv1d.weight"):
        array = array.squeeze(1)
    if key.endswith((".in_proj_qkv.weight", ".conv1d.weight")):
        return np.concatenate([array[:qk], tiled(array[qk:], config)])
    if key.endswith((".in_proj_z.weight", ".in_proj_b.weight", ".in_proj_a.weight", ".A_log", ".dt_bias")):
        return tiled(array, config)
    if key.endswith("linear_attn.out_proj.weight"):
        return tiled(array, config, dim=1)
    return array


def add_fields(writer, config, blocks):
    """`blocks` is what the file says, those that predict more than the next token included."""
    writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
    writer.add_ssm_state_size(config.linear_key_head_dim)
    writer.add_ssm_group_count(config.linear_num_key_heads)
    writer.add_ssm_time_step_rank(config.linear_num_value_heads)
    writer.add_ssm_inner_size(config.linear_value_head_dim * config.linear_num_value_heads)
    recurrent = [of == "linear_attention" for of in config.layer_types]
    if all(recurrent[layer] == bool((layer + 1) % 4) for layer in range(len(recurrent))):
        writer.add_full_attention_interval(4)
    else:
        # Blocks that predict more than the next token have attention.
        recurrent += (blocks - len(recurrent)) * [False]
        writer.add_array(f"{writer.arch}.attention.recurrent_layers", recurrent)
    writer.add_rope_dimension_count(int(config.head_dim * config.rope_parameters["partial_rotary_factor"]))
    writer.add_rope_dimension_sections([2, 1, 1, 0])
    if blocks > config.num_hidden_layers:
        writer.add_nextn_predict_layers(blocks - config.num_hidden_layers)


def with_images(fields, state):
    """config.json and tensors of the same model with a part for images and one that predicts a second token."""
    outside = ("architectures", "torch_dtype", "tie_word_embeddings")
    text = {name: value for name, value in fields.items() if name not in outside}
    fields = {name: fields[name] for name in outside} | dict(model_type="qwen3_5", text_config=text)
    fields["architectures"] = ["Qwen3_5ForConditionalGeneration"]
    fields["vision_config"] = dict(model_type="qwen3_5_vision", depth=1, hidden_size=16)
    state = {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in state.items()}
    for unused in ("model.visual.patch_embed.proj.bias", "mtp.norm.weight", "mtp.layers.0.input_layernorm.weight"):
        state[unused] = torch.full((16,), 7.0, dtype=torch.bfloat16)
    return fields, state


def attention_of(config):
    """The first layer with attention."""
    return f"model.layers.{config.layer_types.index('full_attention')}.self_attn"


def slips(config, same):
    """What a decoder may get wrong: fields of another configuration, and an edit of the model."""
    layer, attention = "model.layers.0.linear_attn", attention_of(config)
    rope = config.rope_parameters
    heads, dim = config.num_attention_heads, config.head_dim
    qk = 2 * config.linear_num_key_heads * config.linear_key_head_dim

    def edited(name, edit):
        def apply(model):
            parameter = model.get_parameter(name)
            parameter.copy_(edit(parameter.clone()))

        return {}, apply

    def plain_norms(model):
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight") and "linear_attn" not in name:
                parameter -= 1.0

    def gates_closed(weight):
        weight.view(heads, 2, dim, -1)[:, 1] = 0.0
        return weight

    def gates_first(weight):
        return weight.view(heads, 2, dim, -1).flip(1).reshape(weight.shape)

    def all_queries_first(weight):
        return weight.view(2, heads, dim, -1).transpose(0, 1).reshape(weight.shape)

    def values_tiled(weight):
        return torch.cat([weight[:qk], torch.from_numpy(tiled(weight[qk:].numpy(), config))])

    slips = {
        "rotated part": (dict(rope_parameters=rope | dict(partial_rotary_factor=0.5)), same),
        "norms without the one": ({}, plain_norms),
        "attention's gate": edited(f"{attention}.q_proj.weight", gates_closed),
        "gates before queries": edited(f"{attention}.q_proj.weight", gates_first),
        "all queries before the gates": edited(f"{attention}.q_proj.weight", all_queries_first),
        "no decay": edited(f"{layer}.A_log", lambda log: log - 20.0),
        "bias of the time step": edited(f"{layer}.dt_bias", torch.zeros_like),
        "convolution turned round": edited(f"{layer}.conv1d.weight", lambda weight: weight.flip(-1)),
        "norm of the state's results": edited(f"{layer}.norm.weight", torch.ones_like),
        "rate": edited(f"{layer}.in_proj_b.weight", torch.zeros_like),
        "gate of the state's results": edited(f"{layer}.in_proj_z.weight", lambda weight: -weight),
    }
    if config.linear_num_key_heads != config.linear_num_value_heads:
        slips["values in the other order"] = edited(f"{layer}.in_proj_qkv.weight", values_tiled)
        slips["convolution in the other order"] = edited(f"{layer}.conv1d.weight", values_tiled)
        slips["decay in the other order"] = edited(
            f"{layer}.A_log", lambda log: torch.from_numpy(tiled(log.numpy(), config))
        )
    return slips
