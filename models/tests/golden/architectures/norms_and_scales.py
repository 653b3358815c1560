"""Slips of models that differ from Llama by their norms and factors alone: OLMo 2 and 3, Granite, GLM-4."""

import torch


class HeadNorm(torch.nn.Module):
    """A norm of all heads together, done for each head by itself."""

    def __init__(self, norm, head_dim):
        super().__init__()
        self.norm, self.head_dim = norm, head_dim

    def forward(self, x):
        heads = x.unflatten(-1, (-1, self.head_dim))
        scale = torch.rsqrt(heads.pow(2).mean(-1, keepdim=True) + self.norm.variance_epsilon)
        return (heads * scale).flatten(-2) * self.norm.weight


def apart(model):
    for layer in model.model.layers:
        attention = layer.self_attn
        for name in ("q_norm", "k_norm"):
            setattr(attention, name, HeadNorm(getattr(attention, name), attention.head_dim))


def halves(model):
    """Rows of the rotated part from neighbours to halves: as if halves were rotated."""
    for name, parameter in model.named_parameters():
        if ".q_proj." in name or ".k_proj." in name:
            dim = model.config.head_dim
            rows = parameter.clone().reshape(-1, dim, *parameter.shape[1:])
            turned = rows[:, : dim // 2]
            rows[:, : dim // 2] = torch.cat((turned[:, ::2], turned[:, 1::2]), dim=1)
            parameter.copy_(rows.reshape(parameter.shape))


def slips(config, same, without):
    if config.model_type in ("olmo2", "olmo3"):
        norms = ("post_attention_layernorm", "post_feedforward_layernorm")
        return {"heads normed apart": ({}, apart)} | {f"no {norm}": ({}, without(norm)) for norm in norms}
    if config.model_type == "granite":
        neutral = {name: 1.0 for name in ("embedding_multiplier", "residual_multiplier", "logits_scaling")}
        neutral["attention_multiplier"] = (config.hidden_size // config.num_attention_heads) ** -0.5
        return {name: ({name: scale}, same) for name, scale in neutral.items()}
    if config.model_type == "glm4":
        norms = ("post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm")
        whole = config.rope_parameters | dict(partial_rotary_factor=1.0)
        others = {"halves": ({}, halves), "whole heads": (dict(rope_parameters=whole), same)}
        return others | {f"no {norm}": ({}, without(norm)) for norm in norms}
    return {}
