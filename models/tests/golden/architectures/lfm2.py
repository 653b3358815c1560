"""LFM2: its short convolutions and the bias of its experts' choice, and what `make.py` checks of them."""

import gguf
import torch

MODEL_TYPES = ("lfm2", "lfm2_moe")
BIAS = ".feed_forward.expert_bias"


def drawn(name, noise):
    """The numbers of a parameter, or None for those that other models have too."""
    if name == "model.embedding_norm.weight":
        return 4.0 * noise  # of either sign, and wide, so that fewer steps are near ties
    if name.endswith((".q_layernorm.weight", ".k_layernorm.weight")):
        return 1.6 + 0.3 * noise
    if name.endswith(".feed_forward.gate.weight"):
        return 2.0 * noise / noise.shape[-1] ** 0.5  # wider ones would make all sigmoids 0 or 1
    if name.endswith(BIAS):
        return 0.3 * noise
    return None


def add_fields(writer, config):
    writer.add_vocab_size(config.vocab_size)
    writer.add_shortconv_l_cache(config.conv_L_cache)
    if config.model_type == "lfm2_moe":
        writer.add_leading_dense_block_count(config.num_dense_layers)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)


def width(config):
    """Of the feed-forward in layers without experts."""
    if config.model_type == "lfm2_moe" or not config.block_auto_adjust_ff_dim:
        return config.intermediate_size
    wide = int(config.block_ffn_dim_multiplier * int(2 * config.intermediate_size / 3))
    return -(-wide // config.block_multiple_of) * config.block_multiple_of


def kv_heads(config):
    return [config.num_key_value_heads if of == "full_attention" else 0 for of in config.layer_types]


def routers(model):
    return [layer.feed_forward for layer in model.model.layers if hasattr(layer.feed_forward, "gate")]


@torch.no_grad()
def scores(model, ids):
    """What experts are chosen by, `[layers, tokens, experts]`."""
    found = []
    hooks = [
        block.gate.register_forward_hook(
            lambda _, given, out, bias=block.expert_bias: found.append(out[0].sigmoid() + bias)
        )
        for block in routers(model)
    ]
    model(torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    return torch.stack(found).numpy()


def slips(config, same):
    """What a decoder may get wrong: fields of another configuration, and an edit of the model."""
    layer, attention = "model.layers.0.conv", config.layer_types.index("full_attention")

    def edited(name, edit):
        def apply(model):
            tensor = model.get_parameter(name)
            tensor.copy_(edit(tensor.clone()))

        return {}, apply

    def turned(weight):
        before, after, x = weight.chunk(3)
        return torch.cat([after, before, x])

    slips = {
        "convolution turned round": edited(f"{layer}.conv.weight", lambda weight: weight.flip(-1)),
        "no tokens before": edited(f"{layer}.conv.weight", lambda weight: weight * torch.eye(weight.shape[-1])[-1]),
        "the oldest token left out": edited(f"{layer}.conv.weight", lambda weight: weight * (1 - torch.eye(weight.shape[-1])[0])),
        "gates exchanged": edited(f"{layer}.in_proj.weight", turned),
        "w1 and w3": ({}, lambda model: exchange(model.model.layers[0].feed_forward)),
        "keys normed by the norm of queries": (
            {},
            lambda model: setattr(model.model.layers[attention].self_attn, "k_layernorm", model.model.layers[attention].self_attn.q_layernorm),
        ),
    }
    if config.model_type != "lfm2_moe":
        return slips

    def each_gate(forward):
        def apply(model):
            for block in routers(model):
                block.gate.forward = lambda hidden, bias, gate=block.gate: forward(gate, hidden, bias)

        return {}, apply

    def weighted_with_bias(gate, hidden, bias):
        logits = hidden @ gate.weight.T
        weights, chosen = torch.topk(logits.sigmoid() + bias, gate.top_k)
        return logits, weights / weights.sum(-1, keepdim=True), chosen

    def by_softmax(gate, hidden, bias):
        logits = hidden @ gate.weight.T
        weights, chosen = torch.topk(logits.softmax(-1) + bias, gate.top_k)
        weights = logits.softmax(-1).gather(1, chosen)
        return logits, weights / weights.sum(-1, keepdim=True), chosen

    def unbiased(model):
        for block in routers(model):
            block.expert_bias.zero_()

    return slips | {
        "no bias": ({}, unbiased),
        "bias as a weight": each_gate(weighted_with_bias),
        "softmax": each_gate(by_softmax),
        "weights' sum": (dict(norm_topk_prob=False), same),
    }


def exchange(feed_forward):
    feed_forward.w1, feed_forward.w3 = feed_forward.w3, feed_forward.w1
