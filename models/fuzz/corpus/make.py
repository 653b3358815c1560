"""Make the corpus of the GGUF and safetensors targets: small files that are sound, of every kind of value and type.

    python make.py            # writes beside this file; needs numpy, gguf, safetensors

Small, because a fuzzer's chance to hit a field falls with every byte around it. The models have one layer of 16, or two
where these differ.
"""

import json
from pathlib import Path

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES
from safetensors.numpy import save_file

HERE = Path(__file__).parent
GENERATOR = np.random.Generator(np.random.PCG64(9))
H = 16


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def noise(*shape):
    return GENERATOR.standard_normal(shape).astype(np.float16)


def model(name, architecture, blocks, extra=lambda writer: None, without=()):
    writer = gguf.GGUFWriter(str(HERE / "gguf" / f"{name}.gguf"), architecture)
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(H)
    writer.add_feed_forward_length(H)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_key_length(H)
    extra(writer)
    writer.add_tensor("token_embd.weight", noise(4, H))
    writer.add_tensor("output_norm.weight", noise(H))
    for part, shape in {"attn_norm": (H,), "ffn_norm": (H,), "attn_output": (H, H), "ffn_down": (H, H), **blocks}.items():
        if part in without:
            continue
        writer.add_tensor(f"blk.0.{part}.weight", noise(*shape))
    finish(writer)


def layered(name, architecture, blocks, fields, output_norm="output_norm", rope=None):
    """As `model`, of several layers: each of `blocks` has the shapes of its tensors by their names, ending included."""
    writer = gguf.GGUFWriter(str(HERE / "gguf" / f"{name}.gguf"), architecture)
    writer.add_block_count(len(blocks))
    writer.add_context_length(64)
    writer.add_embedding_length(H)
    writer.add_feed_forward_length(H)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_key_length(H)
    fields(writer)
    writer.add_tensor("token_embd.weight", noise(4, H))
    writer.add_tensor(f"{output_norm}.weight", noise(H))
    if rope is not None:
        writer.add_tensor("rope_freqs.weight", rope)
    for layer, block in enumerate(blocks):
        for part, shape in block.items():
            writer.add_tensor(f"blk.{layer}.{part}", noise(*shape))
    finish(writer)


def weights(*parts, **others):
    """Square matrices of `parts`, and norms where a name says so."""
    shapes = {part: (H,) if "norm" in part else (H, H) for part in parts}
    return {f"{part}.weight": shape for part, shape in (shapes | others).items()}


ATTENTION = ("attn_q", "attn_k", "attn_v", "attn_output", "attn_q_norm", "attn_k_norm")
FEED_FORWARD = ("ffn_gate", "ffn_up", "ffn_down")


def add_experts(writer):
    writer.add_expert_count(2)
    writer.add_expert_used_count(1)
    writer.add_expert_feed_forward_length(H)


def families():
    """One of each architecture that the others are not."""
    separate = {part: (H, H) for part in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up")}
    normed = {"attn_q_norm": (H,), "attn_k_norm": (H,)}
    around = {"post_attention_norm": (H,), "post_ffw_norm": (H,)}
    experts = {f"ffn_{part}_exps": (2, H, H) for part in ("gate", "up", "down")} | {"ffn_gate_inp": (2, H)}

    def based(base, more=lambda writer: None):
        def add(writer):
            writer.add_rope_freq_base(base)
            more(writer)

        return add

    def yarn(writer):
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(8.0)
        writer.add_rope_scaling_orig_ctx_len(16)
        writer.add_rope_scaling_yarn_log_mul(1.0)
        writer.add_attn_temperature_scale(0.1)

    model("gemma3", "gemma3", separate | normed | around, based(1e6, lambda writer: writer.add_sliding_window(16)))
    model("smollm3", "smollm3", separate, based(2e6))
    model("mistral3", "mistral3", separate, based(1e6, yarn))
    olmo2 = separate | normed | around
    model("olmo2", "olmo2", olmo2, based(5e5, lambda writer: writer.add_sliding_window(16)), without=("attn_norm", "ffn_norm"))
    model("granite", "granite", separate, based(1e4, lambda writer: writer.add_logit_scale(2.0)))
    glm4 = {part: (H, H) for part in ("attn_q", "attn_k", "attn_v")} | {"ffn_up": (2 * H, H)} | around
    model("glm4", "glm4", glm4, based(1e4, lambda writer: writer.add_rope_dimension_count(8)))
    attention = {part: (H, H) for part in ("attn_q", "attn_k", "attn_v")}
    model("qwen3moe", "qwen3moe", attention | normed | experts, based(1e6, add_experts), without=("ffn_down",))

    def gemma4(writer):
        writer.add_head_count_kv(1)
        writer.add_rope_freq_base(1e6)
        writer.add_key_length_swa(H)
        writer.add_value_length_swa(H)
        writer.add_rope_dimension_count(H)
        writer.add_rope_dimension_count_swa(H)
        writer.add_sliding_window(16)
        writer.add_sliding_window_pattern([True, False])
        writer.add_final_logit_softcapping(30.0)

    block = weights("attn_norm", "ffn_norm", *ATTENTION, *around, *FEED_FORWARD, layer_output_scale=(1,))
    part_turns = np.array([1.0, 1.0] + (H // 2 - 2) * [1e30], dtype=np.float32)
    layered("gemma4", "gemma4", [block, block], gemma4, rope=part_turns)

    def qwen35(writer):
        writer.add_head_count_kv(1)
        writer.add_rope_freq_base(1e7)
        writer.add_rope_dimension_count(8)
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_state_size(H)
        writer.add_ssm_group_count(1)
        writer.add_ssm_time_step_rank(1)
        writer.add_ssm_inner_size(H)
        writer.add_full_attention_interval(2)

    def qwen35moe(writer):
        qwen35(writer)
        add_experts(writer)
        writer.add_expert_shared_feed_forward_length(H)

    norms = ("attn_norm", "post_attention_norm")
    delta = weights(*norms, "attn_gate", "ssm_norm", "ssm_out", attn_qkv=(3 * H, H), ssm_beta=(1, H), ssm_alpha=(1, H))
    delta |= {"ssm_conv1d.weight": (3 * H, 4), "ssm_a": (1,), "ssm_dt.bias": (1,)}
    gated = weights(*norms, *ATTENTION) | {"attn_q.weight": (2 * H, H)}
    layered("qwen35", "qwen35", [each | weights(*FEED_FORWARD) for each in (delta, gated)], qwen35)
    shared = weights(*(f"{part}_shexp" for part in FEED_FORWARD), ffn_gate_inp_shexp=(H,), **experts)
    layered("qwen35moe", "qwen35moe", [each | shared for each in (delta, gated)], qwen35moe)

    def lfm2(writer):
        writer.add_head_count_kv([0, 1])
        writer.add_rope_freq_base(1e6)
        writer.add_shortconv_l_cache(3)

    def lfm2moe(writer):
        lfm2(writer)
        add_experts(writer)
        writer.add_leading_dense_block_count(1)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)

    norms = ("attn_norm", "ffn_norm")
    conv = weights(*norms, *FEED_FORWARD) | {"shortconv.in_proj.weight": (3 * H, H), "shortconv.conv.weight": (H, 3)}
    conv |= {"shortconv.out_proj.weight": (H, H)}
    attention = weights(*norms, *ATTENTION)
    layered("lfm2", "lfm2", [conv, attention | weights(*FEED_FORWARD)], lfm2, output_norm="token_embd_norm")
    chosen = weights(**experts) | {"exp_probs_b.bias": (2,)}
    layered("lfm2moe", "lfm2moe", [conv, attention | chosen], lfm2moe, output_norm="token_embd_norm")

    def biases(writer):
        for part in ("attn_q", "attn_k", "attn_v"):
            writer.add_tensor(f"blk.0.{part}.bias", noise(H))

    model("qwen2", "qwen2", separate, based(1e6, biases))


def values():
    """Every kind of value and array."""
    writer = gguf.GGUFWriter(str(HERE / "gguf" / "values.gguf"), "llama")
    kinds = "uint8 int8 uint16 int16 uint32 int32 float32 uint64 int64 float64 bool".split()
    for kind in kinds:
        getattr(writer, f"add_{kind}")(f"a.{kind}", True if kind == "bool" else 5)
    writer.add_string("a.string", "text")
    writer.add_array("a.strings", ["one", "two", ""])
    for kind in kinds:
        element = gguf.GGUFValueType[kind.upper()]
        writer.add_key_value(f"a.{kind}s", [True] if kind == "bool" else [1, 2], gguf.GGUFValueType.ARRAY, sub_type=element)
    writer.add_custom_alignment(8)
    writer.add_tensor("t", noise(2, 3))
    finish(writer)


def types():
    """Every type of tensor, a block or two each."""
    writer = gguf.GGUFWriter(str(HERE / "gguf" / "types.gguf"), "llama")
    for name in "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4".split():
        kind = gguf.GGMLQuantizationType[name]
        width = GGML_QUANT_SIZES[kind][1]
        writer.add_tensor(name, np.full((2, width), 0x77 if name == "MXFP4" else 0x11, dtype=np.uint8), raw_dtype=kind)
    finish(writer)


def vocabulary(name, model, tokens, types, **more):
    """A vocabulary and nothing else."""
    writer = gguf.GGUFWriter(str(HERE / "vocabulary" / f"{name}.gguf"), "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_bos_token_id(more.get("bos", 1))
    writer.add_eos_token_id(2)
    if "merges" in more:
        writer.add_tokenizer_pre(more["pre"])
        writer.add_token_merges(more["merges"])
    else:
        writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_chat_template("{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] | trim }}</s>{% endfor %}")
    finish(writer)


def byte_alphabet():
    """GPT-2's letters for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(b) for b in plain] + [chr(256 + n) for n in range(256 - len(plain))]


def vocabularies():
    letters = ["<unk>", "<s>", "</s>", *byte_alphabet(), "\u0120t", "he", "\u0120the", "<|im_end|>"]
    types = [2, 3, 3] + [1] * 259 + [3]
    merges = ["\u0120 t", "h e", "\u0120t he"]
    vocabulary("bytes", "gpt2", letters, types, pre="qwen2", merges=merges)
    vocabulary("llama3", "gpt2", letters, types, pre="llama-bpe", merges=merges)
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    pieces = ["<unk>", "<s>", "</s>", *bytes_, "\u2581", "a", "b", "ab", "\u2581a", "[INST]"]
    vocabulary("pieces", "llama", pieces, [2, 3, 3] + [6] * 256 + [1] * 5 + [4])


def tokenizer(name, document):
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    (HERE / "tokenizer" / f"{name}.json").write_text(text, encoding="utf-8")


def tokenizers():
    """The kinds that the golden tokenizer.json is not."""
    ids = lambda texts: {text: i for i, text in enumerate(texts)}  # noqa: E731
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    tokenizer("pieces", {
        "added_tokens": [{"id": 1, "content": "<s>", "special": True, "rstrip": True}, {"id": 2, "content": "</s>", "special": True}],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, space]},
        "decoder": {"type": "Sequence", "decoders": [space, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]},
        "model": {
            "type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True,
            "vocab": ids(["<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "a", "b", "ab"]), "merges": ["a b"],
        },
    })  # fmt: skip
    tokenizer("words", {
        "added_tokens": [{"id": 1, "content": "[CLS]", "special": True}],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": ids(["[UNK]", "[CLS]", "the", "##ght", "ri", "word", "##word"]),
        },
    })  # fmt: skip


def main():
    for folder in ("gguf", "safetensors", "vocabulary", "tokenizer"):
        (HERE / folder).mkdir(exist_ok=True)
    separate = {part: (H, H) for part in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up")}
    freqs = lambda writer: writer.add_tensor("rope_freqs.weight", np.ones(H // 2, dtype=np.float32))  # noqa: E731
    model("llama", "llama", separate, freqs)
    model("qwen3", "qwen3", separate | {"attn_q_norm": (H,), "attn_k_norm": (H,)})

    def longrope(writer):
        writer.add_sliding_window(32)
        writer.add_rope_scaling_orig_ctx_len(16)
        writer.add_rope_scaling_attn_factors(1.5)
        writer.add_rope_dimension_count(8)
        writer.add_tensor("rope_factors_short.weight", np.ones(4, dtype=np.float32))

    model("phi3", "phi3", {"attn_qkv": (3 * H, H), "ffn_up": (2 * H, H)}, longrope)
    values()
    types()
    vocabularies()
    tokenizers()
    names = ["model.embed_tokens.weight", "model.norm.weight", "model.layers.0.self_attn.q_proj.weight"]
    save_file({name: noise(4, 4) for name in names}, str(HERE / "safetensors" / "halves.safetensors"))
    every = "float64 float32 float16 int64 int32 int16 int8 uint8 bool".split()
    codes = {"m_blocks": np.full((2, 1, 16), 0x21, np.uint8), "m_scales": np.full((2, 1), 127, np.uint8)}
    save_file(codes, str(HERE / "safetensors" / "mxfp4.safetensors"))
    save_file({kind: np.ones((2, 3), dtype=kind) for kind in every}, str(HERE / "safetensors" / "types.safetensors"))
    odd = {"scalar": np.ones((), np.float32), "empty": np.zeros((0, 4), np.float32), "deep": np.ones((1, 1, 2, 1, 1), np.float32)}
    save_file(odd, str(HERE / "safetensors" / "odd.safetensors"), metadata={"format": "pt"})

    def gpt_oss(writer):
        writer.add_expert_count(2)
        writer.add_expert_used_count(1)
        writer.add_expert_feed_forward_length(H)
        writer.add_sliding_window(16)
        writer.add_rope_freq_base(150000.0)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.0.{part}.bias", noise(H))
        writer.add_tensor("blk.0.ffn_gate_inp.bias", noise(2))
        for part in ("gate", "up", "down"):
            writer.add_tensor(f"blk.0.ffn_{part}_exps.bias", noise(2, H))

    stacked = {f"ffn_{part}_exps": (2, H, H) for part in ("gate", "up", "down")}
    attention = {part: (H, H) for part in ("attn_q", "attn_k", "attn_v")}
    sinks = {"attn_sinks": (1,), "post_attention_norm": (H,), "ffn_gate_inp": (2, H)}
    model("gpt-oss", "gpt-oss", attention | stacked | sinks, gpt_oss, without=("ffn_norm", "ffn_down"))
    families()


if __name__ == "__main__":
    main()
