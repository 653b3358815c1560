"""Mixtures of experts: their tensors as checkpoints have them, and what `make.py` checks of them."""

import numpy as np
import torch

import gemma4
import lfm2

FUSED = (".experts.gate_up_proj", ".experts.down_proj")
# LFM2's own names of the projections.
LFM2_NAMES = {"gate_up_proj": ("w1", "w3"), "down_proj": ("w2",)}
# Least distance between the router's logits of the last expert used and of the first one not used.
CLEAR = 0.02
CLEAR_IN_F32 = 0.001
# The same of sigmoids, which lie between 0 and 1.
CLEAR_OF_SIGMOIDS = 0.0001


def separate(tensors):
    """One tensor per expert and projection, as in published checkpoints; transformers 5 fuses those of a layer."""
    separated = {}
    for name, tensor in tensors.items():
        if not name.endswith(FUSED):
            separated[name] = tensor
            continue
        prefix, part = name.rsplit(".", 1)
        parts = ("gate_proj", "up_proj") if part == "gate_up_proj" else (part,)
        parts = LFM2_NAMES[part] if ".feed_forward." in name else parts
        for expert, of_expert in enumerate(tensor):
            for projection, chunk in zip(parts, of_expert.chunk(len(parts))):
                separated[f"{prefix}.{expert}.{projection}.weight"] = chunk.contiguous()
    return separated


def count_used(config):
    """The field that says how many experts a token has."""
    return "top_k_experts" if config.model_type == gemma4.MODEL_TYPE else "num_experts_per_tok"


@torch.no_grad()
def routing(model, ids):
    """The router's logits by layer, `[layers, tokens, experts]`."""
    logits = model(torch.tensor([ids]), output_router_logits=True).router_logits
    return torch.stack(logits).numpy()


def least_gap(logits, used):
    """The least distance between the last expert that is used and the first one that is not."""
    ordered = np.sort(logits)[..., ::-1]
    return float((ordered[..., used - 1] - ordered[..., used]).min())


def check_routing(name, model, sequences, continued):
    """At every position the choice of experts is clear, and every expert of every layer is used at some of `sequences`.

    The choices of `continued` are compared in f32 alone.
    """
    choosing, clear, clear_in_f32 = routing, CLEAR, CLEAR_IN_F32
    used = getattr(model.config, count_used(model.config))
    if model.config.model_type == gemma4.MODEL_TYPE:
        choosing = gemma4.router_logits
    if model.config.model_type in lfm2.MODEL_TYPES:
        choosing, clear, clear_in_f32 = lfm2.scores, CLEAR_OF_SIGMOIDS, CLEAR_OF_SIGMOIDS
    logits = np.concatenate([choosing(model, ids) for ids in sequences], axis=1)
    gap, gap_in_f32 = (least_gap(of, used) for of in (logits, choosing(model, continued)))
    uses = [np.bincount(layer.argsort()[:, -used:].ravel(), minlength=layer.shape[1]).tolist() for layer in logits]
    print(name, "router: distance to the first unused", round(gap, 4), round(gap_in_f32, 4), "uses by layer", uses)
    assert gap > clear and gap_in_f32 > clear_in_f32 and np.min(uses) > 0


def slips(config, same):
    """What a decoder may get wrong: fields of another configuration, and an edit of the model."""
    block = "model.layers.0.mlp"
    if config.model_type in lfm2.MODEL_TYPES:
        block = f"model.layers.{config.num_dense_layers}.feed_forward"
    if config.model_type == gemma4.MODEL_TYPE:
        block = "model.layers.0"
    experts, used = f"{block}.experts", count_used(config)

    def swapped(model):
        gate_up = model.get_parameter(f"{experts}.gate_up_proj")
        gate_up[3] = torch.cat(list(reversed(gate_up[3].clone().chunk(2))))

    def reversed_experts(model):
        for part in ("gate_up_proj", "down_proj"):
            tensor = model.get_parameter(f"{experts}.{part}")
            tensor.copy_(tensor.clone().flip(0))

    def edited(name, edit):
        def apply(model):
            parameter = model.get_parameter(f"{block}.{name}")
            parameter.copy_(edit(parameter.clone()))

        return {}, apply

    own = {}
    if hasattr(config, "norm_topk_prob") and config.model_type not in lfm2.MODEL_TYPES:
        own["weights' sum"] = (dict(norm_topk_prob=not config.norm_topk_prob), same)
    if hasattr(config, "shared_expert_intermediate_size"):
        own["no shared expert"] = edited("shared_expert.down_proj.weight", torch.zeros_like)
        own["shared expert's gate"] = edited("shared_expert_gate.weight", lambda weight: 0.0 * weight + 9.0)
    return own | {
        "one expert": ({used: 1}, same),
        "one expert more": ({used: getattr(config, used) + 1}, same),
        "gate and up of expert 3": ({}, swapped),
        "experts reversed": ({}, reversed_experts),
    }
