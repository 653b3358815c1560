"""Makes the folders beside this file of rerankers, of a grounding classifier, and of a BERT with the tokens of XLM-R, as
multilingual E5 is: tiny random models, and what transformers computes with them.

    python heads.py           needs what make.py needs
"""
import torch
from make import HERE, SHAPE, classifier, embedding, kept
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

PIECES = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>")
PIECES["mask_token"] = "<mask>"
ONE = dict(id2label={0: "LABEL_0"}, label2id={"LABEL_0": 0})
TWO = dict(id2label={0: "unsupported", 1: "supported"}, label2id={"unsupported": 0, "supported": 1})


def main():
    torch.manual_seed(2)
    names = dict(cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", pad_token="[PAD]", mask_token="[MASK]")
    words = kept("bert", None)
    bert = dict(SHAPE, vocab_size=words.get_vocab_size(), max_position_embeddings=48)
    classifier("bert-reranker", BertForSequenceClassification(BertConfig(**bert, **ONE)), words, names, 48)

    names = PIECES
    pieces = kept("xlm-roberta", None)
    ids = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2)
    xlm = dict(SHAPE, **ids, vocab_size=pieces.get_vocab_size(), max_position_embeddings=66, type_vocab_size=1)
    model = XLMRobertaForSequenceClassification(XLMRobertaConfig(**xlm, **ONE, layer_norm_eps=1e-5))
    classifier("xlm-roberta-reranker", model, pieces, names, 64)

    bert = dict(SHAPE, vocab_size=words.get_vocab_size(), max_position_embeddings=48)
    names = dict(cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", pad_token="[PAD]", mask_token="[MASK]")
    classifier("bert-grounding", BertForSequenceClassification(BertConfig(**bert, **TWO)), words, names, 48)

    names = PIECES
    bert = dict(SHAPE, vocab_size=pieces.get_vocab_size(), max_position_embeddings=64, pad_token_id=1)
    model = BertModel(BertConfig(**bert), add_pooling_layer=False)
    embedding("bert-pieces", model, pieces, names, "mean", True, 64)


if __name__ == "__main__":
    main()
