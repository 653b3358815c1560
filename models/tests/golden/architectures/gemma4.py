"""Gemma 4: its numbers, its tensors as published folders and llama.cpp's converter have them, and its slips."""

import numpy as np
import torch

MODEL_TYPE = "gemma4_text"
FULL, SLIDING = "full_attention", "sliding_attention"
# A buffer, not a parameter.
SCALAR = ".layer_scalar"
# Norms of what a layer adds.
BEHIND = (".post_attention_layernorm.weight", ".post_feedforward_layernorm.weight", ".post_per_layer_input_norm.weight")


def drawn(name, noise):
    """A parameter's numbers, from normal ones; None for those that are drawn as other models' are."""
    if name == "model.norm.weight":
        return 3.0 * noise  # of either sign, as in others to be continued; wide, so that fewer steps are near ties
    if name.endswith(SCALAR):
        return 1.0 + 0.4 * np.tanh(noise)
    if name.endswith((".q_norm.weight", ".k_norm.weight")):
        return 0.65 + 0.15 * noise  # scores are not divided by the root of a head's size
    if name.endswith(BEHIND):
        return 0.6 + 0.2 * noise  # layers add less than there is: differences of rounding grow less
    # These are small beside the epsilon of the norm behind them: otherwise a factor would not show.
    if name.endswith(".per_layer_model_projection.weight"):
        return 0.1 * noise / np.sqrt(noise.shape[-1])
    if name.endswith(".per_layer_projection.weight"):
        return 0.03 * noise / np.sqrt(noise.shape[-1])
    if name.endswith(".experts.down_proj"):
        return 0.05 * noise / np.sqrt(noise.shape[-1])
    if name.endswith(".router.proj.weight"):
        return 5.0 * noise / np.sqrt(noise.shape[-1])
    if name.endswith(".router.scale"):
        return np.sqrt(noise.shape[-1]) * (1.0 + 0.3 * noise)
    if name.endswith(".per_expert_scale"):
        return 1.0 + 0.3 * noise
    return None


def first_shared(config):
    """The first layer that reads keys and values of one before it."""
    return config.num_hidden_layers - config.num_kv_shared_layers


def in_folder(state, config):
    """The tensors of a published folder: layers that share keys and values have projections too, read by nothing."""
    state = dict(state)
    for layer in range(first_shared(config), config.num_hidden_layers):
        like = f"model.layers.{config.layer_types.index(config.layer_types[layer])}.self_attn"
        for part in ("k_proj", "v_proj", "k_norm"):
            unused = torch.full_like(state[f"{like}.{part}.weight"], 7.0)
            state[f"model.layers.{layer}.self_attn.{part}.weight"] = unused
    return state


def with_images(fields, state):
    """config.json and tensors of the same model with parts for images and for sound."""
    text = {name: value for name, value in fields.items() if name != "architectures"}
    fields = {name: text[name] for name in ("dtype", "tie_word_embeddings")}
    fields |= dict(architectures=["Gemma4ForConditionalGeneration"], model_type="gemma4", text_config=text)
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=1)
    images = dict(model_type="gemma4_vision", head_dim=16, intermediate_size=16, num_key_value_heads=1)
    sounds = dict(model_type="gemma4_audio", output_proj_dims=16, subsampling_conv_channels=[4, 4])
    fields |= dict(vision_config=sizes | images, audio_config=sizes | sounds)
    state = {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in state.items()}
    others = {
        "model.vision_tower.encoder.layers.0.input_layernorm.weight": (16,),
        "model.vision_tower.encoder.layers.0.self_attn.q_proj.linear.weight": (16, 16),
        "model.embed_vision.embedding_projection.weight": (text["hidden_size"], 16),
        "model.audio_tower.layers.0.norm_out.weight": (16,),
        "model.embed_audio.embedding_projection.weight": (text["hidden_size"], 16),
    }
    return fields, state | {name: torch.full(shape, 7.0, dtype=torch.bfloat16) for name, shape in others.items()}


def in_gguf(state):
    """Tensors of a GGUF by transformers' names: experts stay fused, scales of the router stand beside two matrices."""
    names = {name: name for name in state}
    for name in state:
        if name.endswith((SCALAR, ".experts.gate_up_proj", ".experts.down_proj")):
            names[name] = f"{name}.weight"
        elif name.endswith(".router.per_expert_scale"):
            names[name] = name.replace(".router.per_expert_scale", ".experts.down_proj.scale")
    return {names[name]: tensor for name, tensor in state.items()}


def by_layer(config, sliding, full):
    return [sliding if of == SLIDING else full for of in config.layer_types]


def kv_heads(config):
    """One number, or one for every layer where the file states those of full layers."""
    full = config.per_layer_config[config.layer_types.index(FULL)].num_key_value_heads
    return by_layer(config, config.num_key_value_heads, full) if config.attention_k_eq_v else config.num_key_value_heads


def widths(config):
    """Of the feed-forwards: one number, or one for every layer."""
    if not config.use_double_wide_mlp:
        return config.intermediate_size
    return [config.intermediate_size * (1 + (of >= first_shared(config))) for of in range(config.num_hidden_layers)]


def add_fields(writer, config):
    """Keys besides those of all models. Sizes of heads without `_swa` are those of full layers."""
    full = config.per_layer_config[config.layer_types.index(FULL)].head_dim
    rope = config.rope_parameters
    writer.add_key_length(full)
    writer.add_value_length(full)
    writer.add_key_length_swa(config.head_dim)
    writer.add_value_length_swa(config.head_dim)
    writer.add_sliding_window(config.sliding_window)
    writer.add_sliding_window_pattern(by_layer(config, True, False))
    writer.add_shared_kv_layers(config.num_kv_shared_layers)
    writer.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    if config.final_logit_softcapping:
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if config.enable_moe_block:
        writer.add_expert_count(config.num_experts)
        writer.add_expert_used_count(config.top_k_experts)
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    writer.add_rope_freq_base_swa(rope[SLIDING]["rope_theta"])
    writer.add_rope_dimension_count(full)
    writer.add_rope_dimension_count_swa(config.head_dim)
    # Pairs of full layers that are not rotated have an infinite wavelength, almost.
    rotated = int(full * rope[FULL]["partial_rotary_factor"] / 2)
    writer.add_tensor("rope_freqs.weight", np.array(rotated * [1.0] + (full // 2 - rotated) * [1e30], dtype=np.float32))


@torch.no_grad()
def router_logits(model, ids):
    """The router's logits by layer, `[layers, tokens, experts]`."""
    found = []
    hooks = [
        layer.router.proj.register_forward_hook(lambda _, given, out: found.append(out)) for layer in model.model.layers
    ]
    model(torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    return torch.stack(found).numpy()


def slips(config, same, without):
    """What a decoder may get wrong: fields of another configuration, and an edit of the model."""

    def each(edit):
        """The edit of every layer."""

        def apply(model):
            for layer in model.model.layers:
                edit(layer)

        return {}, apply

    def assigned(path, name, value):
        def edit(layer):
            owner = layer.get_submodule(path)
            if hasattr(owner, name):
                setattr(owner, name, value)

        return each(edit)

    def edited(name, edit):
        def apply(model):
            tensor = model.get_parameter(name)
            tensor.copy_(edit(tensor.clone()))

        return {}, apply

    def divided_scores(layer):
        layer.self_attn.scaling = layer.self_attn.head_dim**-0.5

    def unscaled(model):
        model.model.embed_tokens.embed_scale.fill_(1.0)

    def norms_and_one(model):
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter += 1.0

    def frequencies_of_a_part(model):
        """As if the part that is rotated were a head of its own."""
        frequencies = model.model.rotary_emb.full_attention_inv_freq
        rotated = int((frequencies > 0).sum())
        frequencies[:rotated] = config.rope_parameters[FULL]["rope_theta"] ** (-torch.arange(rotated) / rotated)

    norms = ("post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
    found = {f"no {norm}": ({}, without(norm)) for norm in norms} | {
        "silu": (dict(hidden_activation="silu"), same),
        "no embedding scale": ({}, unscaled),
        "norms and one": ({}, norms_and_one),
        "scores divided": each(divided_scores),
        "values not normed": assigned("self_attn", "v_norm", torch.nn.Identity()),
        "frequencies of a part": ({}, frequencies_of_a_part),
        "no layer scale": each(lambda layer: layer.layer_scalar.fill_(1.0)),
    }
    if config.final_logit_softcapping:
        found["no cap"] = (dict(final_logit_softcapping=None), same)
    if config.attention_k_eq_v:

        def values_from_normed_keys(layer):
            attention = layer.self_attn
            if attention.v_proj is None:
                attention.v_norm = torch.nn.Sequential(attention.k_norm, attention.v_norm)

        found["values from normed keys"] = each(values_from_normed_keys)
    if config.num_kv_shared_layers:
        for kind in (SLIDING, FULL):
            found[f"keys and values of another layer, {kind}"] = ({}, another_source(config, kind))
    if config.hidden_size_per_layer_input:
        found |= per_layer_slips(config, edited, each)
    if config.enable_moe_block:
        found |= router_slips(each, assigned)
    return found


def another_source(config, kind):
    """The last layer but one of its kind is read, not the last, by those that share."""
    source = [layer for layer in range(first_shared(config)) if config.layer_types[layer] == kind][-2]

    def edit(model):
        for index, layer in enumerate(model.model.layers[: first_shared(config)]):
            if config.layer_types[index] == kind:
                layer.self_attn.store_full_length_kv = index == source

    return edit


def per_layer_slips(config, edited, each):
    """Of embeddings that every layer has for itself."""

    def unscaled(model):
        model.model.embed_tokens_per_layer.embed_scale.fill_(1.0)

    def factor(name):
        return {}, lambda model: setattr(model.model, name, 1.0)

    of_tokens, size = "model.embed_tokens_per_layer.weight", config.hidden_size_per_layer_input
    return {
        "no embeddings by layer": each(lambda layer: layer.post_per_layer_input_norm.weight.zero_()),
        "embeddings by layer of context alone": edited(of_tokens, torch.zeros_like),
        "embeddings by layer of tokens alone": edited("model.per_layer_projection_norm.weight", torch.zeros_like),
        "embeddings of the next layer": edited(of_tokens, lambda weight: weight.roll(-size, -1)),
        "no scale of embeddings by layer": ({}, unscaled),
        "no scale of their projection": factor("per_layer_model_projection_scale"),
        "no scale of their sum": factor("per_layer_input_scale"),
    }


def router_slips(each, assigned):
    def reading_normed(layer):
        layer.router.norm = torch.nn.Sequential(layer.pre_feedforward_layernorm, layer.router.norm)

    def one_input(layer):
        layer.pre_feedforward_layernorm_2 = layer.pre_feedforward_layernorm

    def exchanged(layer):
        first, second = layer.post_feedforward_layernorm_1, layer.post_feedforward_layernorm_2
        layer.post_feedforward_layernorm_1, layer.post_feedforward_layernorm_2 = second, first

    def weights_as_they_are(layer):
        router, forward = layer.router, layer.router.forward

        def apply(hidden):
            probabilities, _, chosen = forward(hidden)
            return probabilities, probabilities.gather(-1, chosen) * router.per_expert_scale[chosen], chosen

        router.forward = apply

    return {
        "router reads the feed-forward's input": each(reading_normed),
        "experts read the feed-forward's input": each(one_input),
        "norms behind experts and feed-forward exchanged": each(exchanged),
        "weights' sum": each(weights_as_they_are),
        "no router scale": each(lambda layer: layer.router.scale.fill_(1.0)),
        "router not divided": assigned("router", "scalar_root_size", 1.0),
        "no scale of experts": each(lambda layer: layer.router.per_expert_scale.fill_(1.0)),
    }
