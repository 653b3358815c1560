"""Makes the folders of ModernBERT beside this file: tiny random models, and what transformers computes with them.

    python modernbert.py      needs what make.py needs
"""
import torch
from make import CORPUS, HERE, LABELS, PAIRS, embedding, fast, kept, numbers, save, write
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import ModernBertConfig, ModernBertForSequenceClassification, ModernBertModel

NAMES = dict(cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", pad_token="[PAD]", mask_token="[MASK]")
NAMES["model_input_names"] = ["input_ids", "attention_mask"]
ONE = dict(id2label={0: "LABEL_0"}, label2id={"LABEL_0": 0})


def byte_pairs():
    """As ModernBERT has it: bytes, BERT's special tokens, and runs of spaces among the added tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken(" " * count, normalized=True) for count in (3, 2)])
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=ends
    )
    return tokenizer


def shape(tokenizer, **others):
    """Four blocks, of which the second and third see eight tokens on each side."""
    return ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=96,
        local_attention=16,
        initializer_range=0.35,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        cls_token_id=2,
        sep_token_id=3,
        **others,
    )


def with_norms(model):
    """Norms that training would have moved away from one, and rotations that differ between the kinds of block."""
    torch.manual_seed(6)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "norm" in name:
                value.copy_(1 + 0.3 * torch.randn_like(value))
    return model.eval()


@torch.inference_mode()
def classifier(name, model, tokenizer):
    folder = HERE / name
    save(folder, with_norms(model))
    wrapped = fast(folder, tokenizer, NAMES, 80)
    rows = []
    for first, second in PAIRS:
        encoded = wrapped(first, second, truncation=True, return_tensors="pt")
        logits = model(**encoded).logits[0]
        rows.append(dict(first=first, second=second, ids=encoded["input_ids"][0].tolist(), logits=numbers(logits)))
    write(folder, dict(pairs=rows))


def main():
    torch.manual_seed(3)
    tokenizer = kept("modernbert", byte_pairs)
    embedding("modernbert", with_norms(ModernBertModel(shape(tokenizer))), tokenizer, NAMES, "cls", True, 80)
    config = shape(tokenizer, classifier_pooling="mean", **ONE)
    classifier("modernbert-reranker", ModernBertForSequenceClassification(config), tokenizer)
    classifier("modernbert-nli", ModernBertForSequenceClassification(shape(tokenizer, **LABELS)), tokenizer)


if __name__ == "__main__":
    main()
