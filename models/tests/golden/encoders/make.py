"""Makes the folders beside this file: tiny random encoders of every family, and what transformers computes with them.

    python make.py            needs torch, transformers, tokenizers, safetensors, sentencepiece, protobuf; no network
    python make.py minilm DIR the reference vectors of the real all-MiniLM-L6-v2, whose folder is DIR
"""
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    DebertaV2Model,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaModel,
)

HERE = Path(__file__).parent
# Long and short, capitals and accents, an empty text, one that is cut, and one that spells special tokens' neighbours.
TEXTS = [
    "The harbour of Lisbon was rebuilt after the earthquake of 1755.",
    "Who rebuilt it?",
    "",
    "Élan vital, naïve café - déjà vu; 2,000 people (or more) came!",
    "  spaces   before, between   and after  ",
    "A bridge that is longer than any other bridge of the city was closed for repairs. " * 6,
    "lisbon",
]
PAIRS = [
    ["The bridge was closed in 1998.", "The bridge was open all year."],
    ["A man plays a guitar on the stage of the old theatre.", "Somebody makes music."],
    ["one two three four five six seven eight nine ten " * 5, "short"],
    ["short", "one two three four five six seven eight nine ten " * 5],
    ["one two three four five six seven eight nine ten " * 5, "ten nine eight seven six five four three two one " * 5],
]
CORPUS = TEXTS + [text for pair in PAIRS for text in pair] + [
    "Nobody knows whether the river will flood the town again, but the dam was repaired in the spring.",
    "Music, theatre, guitars and stages; harbours, ships and lighthouses; rivers, bridges and dams.",
]
SHAPE = dict(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.35,
)
LABELS = dict(
    id2label={0: "contradiction", 1: "entailment", 2: "neutral"},
    label2id={"contradiction": 0, "entailment": 1, "neutral": 2},
)


def kept(name, train):
    """The tokenizer that lies there already: training breaks ties in another order every time."""
    path = HERE / name / "tokenizer.json"
    return Tokenizer.from_file(str(path)) if path.exists() else train()


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=220, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return tokenizer


def byte_pairs():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def pieces(special, ends, charsmap, more=()):
    """Unigram pieces; `charsmap` is SentencePiece's own table of replacements."""
    tokenizer = Tokenizer(models.Unigram())
    steps = [normalizers.Precompiled(charsmap)] if charsmap else []
    tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(tokenizers_regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    unknown = next(token for token in special if "unk" in token.lower())
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=special, unk_token=unknown, show_progress=False, max_piece_length=8
    )
    tokenizer.train_from_iterator([*CORPUS, *more], trainer)
    begin, end, between = ends
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {between} $B {end}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (begin, end)],
    )
    return tokenizer


def tokenizers_regex(pattern):
    from tokenizers import Regex

    return Regex(pattern)


# Full-width A, the ligature fi, and the letter e with an acute accent, by code points.
RULES = "FF21\t41\nFB01\t66 69\nE9\t65\n"


def charsmap(lines=RULES):
    """A small table: what SentencePiece compiles from a few rules."""
    import io
    import tempfile

    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.tsv"
        rules.write_text(lines)
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS * 3),
            model_writer=model,
            vocab_size=60,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(rules),
            minloglevel=2,
        )
    from sentencepiece import sentencepiece_model_pb2 as proto

    parsed = proto.ModelProto()
    parsed.ParseFromString(model.getvalue())
    return parsed.normalizer_spec.precompiled_charsmap


def numbers(tensor):
    return [round(float(x), 6) for x in tensor.flatten()]


def fast(folder, tokenizer, names, limit):
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=limit, **names)
    wrapped.save_pretrained(folder)
    return wrapped


def save(folder, model, dtype=torch.float32):
    """Config and weights, with numbers large enough to matter where training would have made them so."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "LayerNorm" in name and name.endswith("weight"):
                value.copy_(1 + 0.3 * torch.randn_like(value))
            elif name.endswith("bias"):
                value.copy_(0.3 * torch.randn_like(value))
            value.copy_(value.to(dtype).float())
    folder.mkdir(exist_ok=True)
    model.eval().save_pretrained(folder)
    if dtype != torch.float32:
        path = folder / "model.safetensors"
        save_file({name: tensor.to(dtype) for name, tensor in load_file(path).items()}, path, {"format": "pt"})


def write(folder, expected):
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=0) + "\n")
    for name in ("special_tokens_map.json", "added_tokens.json"):
        (folder / name).unlink(missing_ok=True)


@torch.inference_mode()
def vectors(folder, model, tokenizer, pooling, normalise, texts, prefix=""):
    """As sentence-transformers do it, one text at a time."""
    rows = []
    for text in texts:
        encoded = tokenizer(prefix + text, truncation=True, return_tensors="pt")
        states = model(**encoded).last_hidden_state[0]
        vector = states[0] if pooling == "cls" else states.mean(0)
        vector = torch.nn.functional.normalize(vector, dim=0) if normalise else vector
        rows.append(dict(text=text, ids=encoded["input_ids"][0].tolist(), vector=numbers(vector)))
    return rows


def sentence_transformers(folder, pooling, normalise, limit):
    kinds = ["Transformer", "Pooling"] + ["Normalize"] * normalise
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        dict(idx=i, name=str(i), path=paths[i], type=f"sentence_transformers.models.{kind}") for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules, indent=1) + "\n")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    config = dict(word_embedding_dimension=32, pooling_mode_cls_token=pooling == "cls")
    config.update(pooling_mode_mean_tokens=pooling == "mean", pooling_mode_max_tokens=False)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "sentence_bert_config.json").write_text(json.dumps(dict(max_seq_length=limit)) + "\n")


def embedding(name, model, tokenizer, names, pooling, normalise, limit, dtype=torch.float32):
    folder = HERE / name
    save(folder, model, dtype)
    wrapped = fast(folder, tokenizer, names, limit)
    sentence_transformers(folder, pooling, normalise, limit)
    write(folder, dict(texts=vectors(folder, model, wrapped, pooling, normalise, TEXTS)))


@torch.inference_mode()
def classifier(name, model, tokenizer, names, limit):
    folder = HERE / name
    save(folder, model)
    wrapped = fast(folder, tokenizer, names, limit)
    rows = []
    for first, second in PAIRS:
        encoded = wrapped(first, second, truncation=True, return_tensors="pt", return_token_type_ids=True)
        if model.config.type_vocab_size < 2:
            encoded.pop("token_type_ids")
        logits = model(**encoded).logits[0]
        rows.append(dict(first=first, second=second, ids=encoded["input_ids"][0].tolist(), logits=numbers(logits)))
    write(folder, dict(pairs=rows))


def buckets():
    """Rows of distances as DeBERTa-v3 has them, at the sizes of its published models."""
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    distances = torch.arange(-511, 512)
    places = make_log_bucket_position(distances, 256, 512)
    return [int(x) for x in torch.clamp(places + 256, 0, 511)]


def main():
    torch.manual_seed(1)
    tokenizer = kept("bert", word_piece)
    bert_names = dict(cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", pad_token="[PAD]", mask_token="[MASK]")
    size = tokenizer.get_vocab_size()
    bert = dict(SHAPE, vocab_size=size, max_position_embeddings=48)
    embedding("bert", BertModel(BertConfig(**bert), add_pooling_layer=False), tokenizer, bert_names, "mean", True, 40)
    classifier("bert-nli", BertForSequenceClassification(BertConfig(**bert, **LABELS)), tokenizer, bert_names, 48)

    tokenizer = kept("roberta-nli", byte_pairs)
    names = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>")
    names["mask_token"] = "<mask>"
    roberta = dict(SHAPE, vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=66, type_vocab_size=1)
    roberta.update(pad_token_id=1, bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-5)
    classifier("roberta-nli", RobertaForSequenceClassification(RobertaConfig(**roberta, **LABELS)), tokenizer, names, 64)

    special, ends = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], ("<s>", "</s>", "</s> </s>")
    tokenizer = kept("xlm-roberta", lambda: pieces(special, ends, charsmap()))
    xlm = dict(roberta, vocab_size=tokenizer.get_vocab_size(), hidden_act="gelu_new")
    model = XLMRobertaModel(XLMRobertaConfig(**xlm), add_pooling_layer=False)
    embedding("xlm-roberta", model, tokenizer, names, "cls", False, 64, torch.float16)

    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    tokenizer = kept("deberta", lambda: pieces(special, ("[CLS]", "[SEP]", "[SEP]"), None))
    deberta = dict(SHAPE, vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=64, type_vocab_size=0)
    deberta.update(relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False)
    near = dict(max_relative_positions=-1, position_buckets=16, share_att_key=True, norm_rel_ebd="layer_norm")
    model = DebertaV2ForSequenceClassification(
        DebertaV2Config(**deberta, **near, pooler_hidden_size=32, pooler_dropout=0, pooler_hidden_act="gelu", **LABELS)
    )
    classifier("deberta-nli", model, tokenizer, bert_names, 64)
    far = dict(max_relative_positions=20, position_buckets=-1, share_att_key=False, norm_rel_ebd="none")
    embedding("deberta", DebertaV2Model(DebertaV2Config(**deberta, **far)), tokenizer, bert_names, "mean", False, 64)
    (HERE / "buckets.json").write_text(json.dumps(buckets()) + "\n")


def minilm(folder):
    """A dozen passages and questions with the vectors that transformers gives in f32."""
    model, tokenizer = AutoModel.from_pretrained(folder, dtype=torch.float32).eval(), AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 256
    texts = TEXTS + PAIRS[1] + [PAIRS[4][0] * 9]
    (HERE / "minilm.json").write_text(
        json.dumps(dict(texts=vectors(folder, model, tokenizer, "mean", True, texts)), ensure_ascii=False) + "\n"
    )


if __name__ == "__main__":
    minilm(sys.argv[2]) if sys.argv[1:2] == ["minilm"] else main()
