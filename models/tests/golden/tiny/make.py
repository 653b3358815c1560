"""Make the tiny random models and what Hugging Face transformers says of them.

    python make.py            # writes beside this file; needs torch, transformers, accelerate, gguf,
                              # safetensors, tokenizers

Per architecture: a model folder, the same weights as an F32 GGUF file, and `<name>.expected.safetensors`.
`llama-sharded` holds the weights of `llama` again, in bfloat16 and two shards.

Every weight is a bfloat16 number (stored as f32), so the sharded folder holds the very same model and git can
compress the rest. The weights are drawn larger than any initialiser would, so that attention is far from uniform
and a wrong rope base, epsilon, bias or head order moves the logits by far more than the tests' tolerance: `main`
asserts that too, because a golden test that nothing can fail is worse than none.

What the two models cover between them:

    |                    | llama              | qwen2                                |
    |--------------------|--------------------|--------------------------------------|
    | output projection  | tied               | its own                              |
    | q, k, v biases     | none               | yes                                  |
    | rope base in JSON  | `rope_theta`       | `rope_parameters` (transformers 5)   |
    | q, k rows in GGUF  | interleaved        | as they are                          |
    | control tokens     | first in the vocab | last in the vocab                    |
    | pre-tokeniser      | smollm             | qwen2                                |
"""

import json
import shutil
from pathlib import Path

import gguf
import numpy as np
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, Qwen2Config

HERE = Path(__file__).parent
VOCAB = 320
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM = 2, 64, 4, 2, 16
LENGTHS = (1, 17, 61)
GREEDY = 20
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# Own text; it only has to give the trainer some 60 merges.
CORPUS = """The town council says the bridge opened in 1932; the engineer's diary says 1934, and the plaque says nothing.
Which of them should we believe? A source that contradicts itself is not worth less than a source that is silent.
The bridge, the river and the town share one name, so a question about the name has more than one answer.
Les trois documents ne disent pas la même chose. Die Brücke wurde später gebaut, als die Quelle behauptet.
"""

TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)
# The qwen2 model speaks of itself when nobody else gives a system message, as the real ones do.
TEMPLATE_WITH_SYSTEM = (
    "{%- if messages[0]['role'] != 'system' -%}"
    "{{ '<|im_start|>system\\nYou are a tiny test model.<|im_end|>\\n' }}"
    "{%- endif -%}" + TEMPLATE
)
QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train_tokenizer(name):
    """A byte-level BPE of VOCAB tokens. llama: control tokens first, as in SmolLM2; qwen2: last, as in Qwen2.5."""
    tokenizer = Tokenizer(models.BPE())
    first = CONTROL if name == "llama" else []
    if name == "llama":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    else:
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(QWEN2_SPLIT), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB - (0 if first else len(CONTROL)),
        special_tokens=first,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainer)
    tokenizer.add_special_tokens(CONTROL)
    assert tokenizer.get_vocab_size() == VOCAB
    return tokenizer


def config_of(name, tokenizer):
    ids = {token: tokenizer.token_to_id(token) for token in CONTROL}
    shared = dict(
        vocab_size=VOCAB,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=256,
        eos_token_id=ids["<|im_end|>"],
        pad_token_id=ids["<|endoftext|>"],
    )
    if name == "llama":
        return LlamaConfig(
            **shared,
            intermediate_size=76,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            rms_norm_eps=1e-3,
            tie_word_embeddings=True,
            bos_token_id=ids["<|im_start|>"],
        )
    return Qwen2Config(
        **shared,
        intermediate_size=60,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
        rms_norm_eps=1e-4,
        tie_word_embeddings=False,
        bos_token_id=ids["<|endoftext|>"],
    )


def random_model(config, seed):
    """The model in f32, every weight a bfloat16 number; numpy's generator, whose stream does not change."""
    generator = np.random.Generator(np.random.PCG64(seed))
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            shape = tuple(parameter.shape)
            noise = generator.standard_normal(shape)
            if "norm" in name:
                value = 1.0 + 0.3 * noise
            elif name.endswith(".bias"):
                value = 0.5 * noise
            elif "embed_tokens" in name:
                value = 0.1 * noise
            elif "q_proj" in name or "k_proj" in name:
                value = 1.6 * noise / np.sqrt(shape[1])
            else:
                value = noise / np.sqrt(shape[1])
            parameter.copy_(torch.from_numpy(value).to(torch.bfloat16))
    return model


def stored(model):
    """The tensors a checkpoint holds: a tied output projection is not among them."""
    state = {name: tensor.detach().clone().contiguous() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        del state["lm_head.weight"]
    return state


# Fields of every transformers configuration that no causal model reads; real files leave them out too.
IDLE_FIELDS = (
    "_name_or_path",
    "chunk_size_feed_forward",
    "dtype",
    "id2label",
    "is_encoder_decoder",
    "label2id",
    "output_attentions",
    "output_hidden_states",
    "problem_type",
    "return_dict",
)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_common(folder, name, config, tokenizer, dtype):
    """config.json, tokenizer.json, tokenizer_config.json; the first in the old form for llama, the new for qwen2."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    fields = config.to_dict()
    fields["architectures"] = ["LlamaForCausalLM" if name == "llama" else "Qwen2ForCausalLM"]
    for idle in IDLE_FIELDS:
        fields.pop(idle, None)
    if name == "llama":
        fields["rope_theta"] = fields.pop("rope_parameters")["rope_theta"]
        fields["torch_dtype"] = dtype
    else:
        fields["dtype"] = dtype
    write_json(folder / "config.json", dict(sorted(fields.items())))
    tokenizer.save(str(folder / "tokenizer.json"))
    token = tokenizer.id_to_token
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": token(config.bos_token_id),
            "eos_token": token(config.eos_token_id),
            "pad_token": token(config.pad_token_id),
            "clean_up_tokenization_spaces": False,
            "chat_template": TEMPLATE if name == "llama" else TEMPLATE_WITH_SYSTEM,
        },
    )


def write_folder(folder, name, model, tokenizer):
    write_common(folder, name, model.config, tokenizer, "float32")
    save_torch(stored(model), str(folder / "model.safetensors"), metadata={"format": "pt"})


def write_sharded(folder, name, model, tokenizer):
    """bfloat16, two shards cut in the middle of a layer, and the index that joins them."""
    write_common(folder, name, model.config, tokenizer, "bfloat16")
    state = {key: tensor.to(torch.bfloat16) for key, tensor in sorted(stored(model).items())}
    names = list(state)
    cut = len(names) // 2
    weight_map = {}
    for number, part in enumerate((names[:cut], names[cut:]), start=1):
        file = f"model-{number:05}-of-00002.safetensors"
        save_torch({key: state[key] for key in part}, str(folder / file), metadata={"format": "pt"})
        weight_map.update({key: file for key in part})
    total = sum(tensor.numel() * 2 for tensor in state.values())
    write_json(
        folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map}
    )


def interleave(weight, heads):
    """Rows of a q or k projection from halves (HF) to pairs (GGUF's llama): within each head, row i of the first
    half goes to 2i and row i of the second half to 2i + 1. llama.cpp rotates neighbours for this architecture."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
GGUF_TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name):
    stem, kind = name.rsplit(".", 1)
    if stem in GGUF_TOP:
        return f"{GGUF_TOP[stem]}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{GGUF_NAMES[part]}.{kind}"


def write_gguf(path, name, model, tokenizer):
    config = model.config
    writer = gguf.GGUFWriter(str(path), name)
    writer.add_type("model")
    writer.add_name(f"tiny random {name}")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if name == "llama":
        # The converter writes these two for llama and leaves them out for qwen2.
        writer.add_vocab_size(config.vocab_size)
        writer.add_rope_dimension_count(HEAD_DIM)
    write_gguf_vocabulary(writer, name, config, tokenizer)
    for key, tensor in stored(model).items():
        array = tensor.numpy()
        if name == "llama" and ".q_proj" in key:
            array = interleave(array, HEADS)
        if name == "llama" and ".k_proj" in key:
            array = interleave(array, KV_HEADS)
        writer.add_tensor(gguf_name(key), np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_gguf_vocabulary(writer, name, config, tokenizer):
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm" if name == "llama" else "qwen2")
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in CONTROL else gguf.TokenType.NORMAL for token, _ in vocabulary]
    )
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    writer.add_pad_token_id(config.pad_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE if name == "llama" else TEMPLATE_WITH_SYSTEM)


@torch.no_grad()
def logits_of(model, ids):
    return model(torch.tensor([ids])).logits[0].numpy()


@torch.no_grad()
def continue_greedily(model, ids):
    """GREEDY tokens by the largest logit, whole sequence anew each step; and the smallest top-two gap met."""
    sequence, gap = list(ids), np.inf
    for _ in range(GREEDY):
        last = logits_of(model, sequence)[-1]
        second, first = np.sort(last)[-2:]
        gap = min(gap, first - second)
        sequence.append(int(last.argmax()))
    return sequence[len(ids) :], gap


def write_expected(path, model, seed):
    """`ids.N` u32 [len], `logits.N` f32 [len, vocab] at every position, `greedy.N` u32 [GREEDY] that follow."""
    generator = np.random.Generator(np.random.PCG64(seed))
    tensors = {}
    for number, length in enumerate(LENGTHS):
        gap, greedy = 0.0, []
        # Draw again at a near-tie, which would hang on the order of a sum, and when one token fills the continuation.
        while gap < 0.01 or len(set(greedy)) < 6:
            ids = generator.integers(0, VOCAB, length).tolist()
            greedy, gap = continue_greedily(model, ids)
        tensors[f"ids.{number}"] = np.array(ids, dtype=np.uint32)
        tensors[f"logits.{number}"] = logits_of(model, ids).astype(np.float32)
        tensors[f"greedy.{number}"] = np.array(greedy, dtype=np.uint32)
    save_file(tensors, str(path))
    return tensors


def load(folder, **options):
    return AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", **options
    ).eval()


def check_loads(name, tensors):
    """Every form of the model, read back by transformers, gives the same logits."""
    forms = [load(HERE / name), load(HERE, gguf_file=f"{name}.gguf")]
    if name == "llama":
        forms.append(load(HERE / "llama-sharded"))
    for form in forms:
        for number in range(len(LENGTHS)):
            found = logits_of(form, tensors[f"ids.{number}"].tolist())
            assert np.abs(found - tensors[f"logits.{number}"]).max() < 1e-5
    from_folder, from_gguf = (
        AutoTokenizer.from_pretrained(HERE / name),
        AutoTokenizer.from_pretrained(HERE, gguf_file=f"{name}.gguf"),
    )
    chat = [{"role": "user", "content": "Who built the bridge?"}]
    texts = [t.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for t in (from_folder, from_gguf)]
    assert texts[0] == texts[1] and texts[0].endswith("<|im_start|>assistant\n")
    assert from_folder.decode(from_folder.encode(CORPUS)) == CORPUS


def check_sensitivity(name, model, tensors):
    """A slip in any of these must show: the largest change of a logit, to be far above the tests' tolerance."""
    ids, expected = tensors["ids.2"].tolist(), tensors["logits.2"]
    slips = {
        "rope base": dict(rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
        "epsilon": dict(rms_norm_eps=1e-6),
    }
    changes = {}
    for slip, fields in slips.items():
        config = type(model.config)(**{**model.config.to_dict(), **fields})
        other = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
        other.load_state_dict(model.state_dict())
        changes[slip] = float(np.abs(logits_of(other, ids) - expected).max())
    other = load(HERE / name)
    with torch.no_grad():
        attention = other.model.layers[0].self_attn
        rows = torch.from_numpy(interleave(attention.k_proj.weight.numpy(), KV_HEADS).copy())
        attention.k_proj.weight.copy_(rows)
    changes["key rows"] = float(np.abs(logits_of(other, ids) - expected).max())
    if name == "qwen2":
        for part in "qkv":
            other = load(HERE / name)
            with torch.no_grad():
                getattr(other.model.layers[0].self_attn, f"{part}_proj").bias.zero_()
            changes[f"{part} bias"] = float(np.abs(logits_of(other, ids) - expected).max())
    print(name, "logits' spread", round(float(expected.std()), 2), "changes", changes)
    assert min(changes.values()) > 0.01


def main():
    torch.set_num_threads(1)
    for name, seed in (("llama", 11), ("qwen2", 22)):
        tokenizer = train_tokenizer(name)
        model = random_model(config_of(name, tokenizer), seed)
        write_folder(HERE / name, name, model, tokenizer)
        write_gguf(HERE / f"{name}.gguf", name, model, tokenizer)
        if name == "llama":
            write_sharded(HERE / "llama-sharded", name, model, tokenizer)
        tensors = write_expected(HERE / f"{name}.expected.safetensors", model, seed + 1)
        check_loads(name, tensors)
        check_sensitivity(name, model, tensors)


if __name__ == "__main__":
    main()
