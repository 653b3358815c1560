"""Folders of models that see images, as published: the text of Gemma 3 and of Ministral 3 in a section, and tensors in
the older and the newer form of transformers' names."""

import torch

GEMMA3, MINISTRAL3 = "gemma3-images", "ministral3-images"
OUTSIDE = ("architectures", "torch_dtype")


def outer(fields, architecture, model_type, vision):
    text = {name: value for name, value in fields.items() if name not in OUTSIDE}
    fields = {name: fields[name] for name in OUTSIDE} | dict(model_type=model_type, text_config=text)
    return fields | dict(architectures=[architecture], vision_config=vision)


def unused(shapes):
    return {name: torch.full(shape, 7.0, dtype=torch.bfloat16) for name, shape in shapes.items()}


def gemma3(fields, state):
    """In the older form, as Google's files."""
    vision = dict(model_type="siglip_vision_model", hidden_size=16, intermediate_size=16, num_hidden_layers=1)
    vision |= dict(num_attention_heads=1, image_size=32, patch_size=8)
    hidden = fields["hidden_size"]
    fields = outer(fields, "Gemma3ForConditionalGeneration", "gemma3", vision)
    fields |= dict(mm_tokens_per_image=4, image_token_index=3, boi_token_index=4, eoi_token_index=5)
    state = {f"language_model.{name}": tensor for name, tensor in state.items()}
    return fields, state | unused({
        "multi_modal_projector.mm_input_projection_weight": (16, hidden),
        "multi_modal_projector.mm_soft_emb_norm.weight": (16,),
        "vision_tower.vision_model.encoder.layers.0.self_attn.q_proj.weight": (16, 16),
        "vision_tower.vision_model.post_layernorm.bias": (16,),
    })  # fmt: skip


def ministral3(fields, state):
    """In the newer form."""
    vision = dict(model_type="pixtral", hidden_size=16, intermediate_size=16, num_hidden_layers=1)
    vision |= dict(num_attention_heads=1, image_size=32, patch_size=8)
    hidden = fields["hidden_size"]
    fields = outer(fields, "Mistral3ForConditionalGeneration", "mistral3", vision)
    fields |= dict(image_token_index=3, spatial_merge_size=2, vision_feature_layer=-1)
    state = {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in state.items()}
    return fields, state | unused({
        "model.multi_modal_projector.linear_1.weight": (hidden, 16),
        "model.multi_modal_projector.norm.weight": (16,),
        "model.vision_tower.ln_pre.weight": (16,),
        "model.vision_tower.transformer.layers.0.attention.q_proj.weight": (16, 16),
    })  # fmt: skip


FORMS = {GEMMA3: gemma3, MINISTRAL3: ministral3}
