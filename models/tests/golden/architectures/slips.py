"""What a decoder may get wrong, and that each slip moves the logits of a model by far more than the tests' tolerance."""

import numpy as np
import torch
from transformers import AutoModelForCausalLM

import delta
import experts
import gemma4
import gpt_oss
import lfm2
import norms_and_scales
from configs import FULL, LESS_ONE, SLIDING, WINDOW


@torch.no_grad()
def logits_of(model, ids):
    return model(torch.tensor([ids])).logits[0].float().numpy()


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
    # Layers of Gemma 4 cannot be of the other kind: their heads have other sizes.
    if len(set(getattr(config, "layer_types", ()))) > 1 and config.model_type != gemma4.MODEL_TYPE:
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
    if config.model_type == "ministral3":
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
    if config.model_type == gemma4.MODEL_TYPE:
        slips |= gemma4.slips(config, same, without)
    slips |= norms_and_scales.slips(config, same, without)
    if config.model_type in ("phi3", "glm4"):

        def swap(model):
            gate_up = model.get_parameter("model.layers.0.mlp.gate_up_proj.weight")
            gate_up.copy_(torch.cat(list(reversed(gate_up.clone().chunk(2)))))

        slips["gate and up"] = ({}, swap)
    if config.model_type == gpt_oss.MODEL_TYPE:
        slips |= gpt_oss.slips(config, same)
    elif getattr(config, "num_experts", None):
        slips |= experts.slips(config, same)
    return slips


def check_sensitivity(name, model, tensors):
    ids, expected = tensors["ids.2"].tolist(), tensors["logits.2"]
    changes = {}
    for slip, (fields, edit) in slips_of(name, model).items():
        changes[slip] = float(np.abs(logits_of(change(model, fields, edit), ids) - expected).max())
    print(name, "logits' spread", round(float(expected.std()), 2), {k: round(v, 3) for k, v in changes.items()})
    assert min(changes.values()) > 0.02
