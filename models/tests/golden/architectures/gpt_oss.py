"""gpt-oss: its numbers, its tensors as published folders and llama.cpp's converter have them, and its slips.

Experts are in MXFP4 in both files: 32 numbers share a power of two (E8M0), each is one of sixteen values (E2M1).
"""

import numpy as np
import torch

MODEL_TYPE = "gpt_oss"
BLOCK = 32
VALUES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
BIAS = 127
MATRICES = (".mlp.experts.gate_up_proj", ".mlp.experts.down_proj")
# Standard deviation of the gate and of what it multiplies, about: some are beyond the limit of 7.
GATE_UP = 4.0
ROUTER = 20.0


def quantise(rows):
    """`[.., inputs]` as codes of 4 bits `[.., blocks, 32]`, scales `[.., blocks]`, and the numbers that they stand for."""
    blocks = rows.reshape(*rows.shape[:-1], -1, BLOCK)
    largest = np.abs(blocks).max(-1, keepdims=True)
    exponent = np.floor(np.log2(largest)) - 2
    scaled = np.abs(blocks) / 2.0**exponent
    magnitude = np.abs(scaled[..., None] - VALUES).argmin(-1)
    codes = (magnitude + 8 * (blocks < 0)).astype(np.uint8)
    numbers = np.where(codes >= 8, -1.0, 1.0) * VALUES[codes & 7] * 2.0**exponent
    return codes, (exponent[..., 0] + BIAS).astype(np.uint8), numbers.reshape(rows.shape)


def drawn(name, noise):
    """A parameter's numbers, from normal ones; None for those that are drawn as other models' are."""
    if name.endswith(MATRICES):
        # transformers has the inputs first.
        scale = (GATE_UP if "gate_up" in name else 0.15) / np.sqrt(noise.shape[-2])
        return quantise(scale * noise.swapaxes(-1, -2))[2].swapaxes(-1, -2)
    if name.endswith("proj_bias"):
        return 0.5 * noise
    if name == "lm_head.weight":
        # Wide apart: few near ties in a continuation.
        return 3.0 * noise / np.sqrt(noise.shape[-1])
    if name.endswith(".sinks"):
        return 1.0 + noise
    if name.endswith(".mlp.router.weight"):
        return ROUTER * noise / np.sqrt(noise.shape[-1])
    return None


def in_folder(state):
    """The tensors of a published folder: codes two to a byte, those of neighbours."""
    tensors = {}
    for name, tensor in state.items():
        if not name.endswith(MATRICES):
            tensors[name] = tensor.to(torch.bfloat16)
            continue
        codes, scales, numbers = quantise(tensor.numpy().swapaxes(-1, -2))
        assert np.array_equal(numbers, tensor.numpy().swapaxes(-1, -2))
        tensors[f"{name}_blocks"] = torch.from_numpy(np.ascontiguousarray(codes[..., 0::2] | codes[..., 1::2] << 4))
        tensors[f"{name}_scales"] = torch.from_numpy(np.ascontiguousarray(scales))
    return tensors


def in_gguf(state):
    """Numbers of a GGUF by transformers' names, and the blocks of MXFP4 as bytes: a scale, then codes of inputs `i` and
    `i + 16` two to a byte. Gate and up are apart."""
    numbers, blocks = {}, {}
    for name, tensor in state.items():
        stem = name.removesuffix("_bias")
        parts = [(name, tensor.numpy())]
        if stem.endswith(".gate_up_proj"):
            turns = (tensor[..., turn::2].numpy() for turn in range(2))
            parts = [(name.replace("gate_up", part), turn) for part, turn in zip(("gate", "up"), turns)]
        for part, array in parts:
            if not name.endswith(MATRICES):
                numbers[part.replace("_proj_bias", "_proj.bias")] = np.ascontiguousarray(array)
                continue
            codes, scales, _ = quantise(array.swapaxes(-1, -2))
            packed = np.concatenate([scales[..., None], codes[..., :16] | codes[..., 16:] << 4], axis=-1)
            blocks[f"{part}.weight"] = np.ascontiguousarray(packed.reshape(*packed.shape[:-2], -1))
    return numbers, blocks


def slips(config, same):
    """What a decoder may get wrong: fields of another configuration, and an edit of the model."""
    experts, attention = "model.layers.0.mlp.experts", "model.layers.0.self_attn"

    def edited(name, edit):
        def apply(model):
            parameter = model.get_parameter(name)
            parameter.copy_(edit(parameter.clone()))

        return {}, apply

    def swapped(tensor):
        return tensor.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)

    def under_one_another(tensor):
        return torch.cat([tensor[..., 0::2], tensor[..., 1::2]], dim=-1)

    rope = config.rope_parameters
    swap = {"sliding_attention": "full_attention", "full_attention": "sliding_attention"}
    return {
        "windows of the other layers": (dict(layer_types=[swap[kind] for kind in config.layer_types]), same),
        "no sinks": edited(f"{attention}.sinks", lambda sinks: 0.0 * sinks - 1e9),
        "sinks of the next head": edited(f"{attention}.sinks", lambda sinks: sinks.roll(1)),
        "no limit": (dict(swiglu_limit=1e9), same),
        "plain sigmoid": (dict(swiglu_alpha=1.0), same),
        "gate and up": edited(f"{experts}.gate_up_proj", swapped),
        "gate over up": edited(f"{experts}.gate_up_proj", under_one_another),
        "biases of gate and up": edited(f"{experts}.gate_up_proj_bias", swapped),
        "no biases of down": edited(f"{experts}.down_proj_bias", torch.zeros_like),
        "no bias of the router": edited("model.layers.0.mlp.router.bias", torch.zeros_like),
        "experts reversed": edited(f"{experts}.down_proj", lambda tensor: tensor.flip(0)),
        "fewer experts": (dict(num_experts_per_tok=config.num_experts_per_tok - 1), same),
        "more experts": (dict(num_experts_per_tok=config.num_experts_per_tok + 1), same),
        "whole pairs": (dict(rope_parameters=rope | dict(truncate=True)), same),
        "magnitude": (dict(rope_parameters=rope | dict(attention_factor=1.0)), same),
    }
