"""Makes bert.gguf and bert-pieces.gguf beside this file: the folders of the same names as llama.cpp's converter writes
them (conversion/bert.py), which itself refuses vocabularies that it does not know.

    python gguf_files.py      needs gguf, numpy, safetensors
"""
import base64
import json

import gguf
from make import HERE
from safetensors.numpy import load_file

TENSORS = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm": "token_embd_norm",
}
IN_BLOCK = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def name_of(name):
    if name in TENSORS:
        return TENSORS[name]
    stem, kind = name.rsplit(".", 1)
    if stem in TENSORS:
        return f"{TENSORS[stem]}.{kind}"
    _, _, index, part = stem.split(".", 3)
    return f"blk.{index}.{IN_BLOCK[part]}.{kind}"


def word_pieces(writer, tokenizer):
    special = {token["id"] for token in tokenizer["added_tokens"]}
    words = sorted(tokenizer["model"]["vocab"].items(), key=lambda row: row[1])
    assert [id for _, id in words] == list(range(len(words)))

    def marked(word, id):
        if id in special:
            return word
        return word[2:] if word.startswith("##") else "\u2581" + word

    writer.add_tokenizer_model("bert")
    writer.add_token_list([marked(word, id) for word, id in words])
    writer.add_token_types([3 if id in special else 1 for _, id in words])
    ids = dict(words)
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_sep_token_id(ids["[SEP]"])


def unigrams(writer, tokenizer):
    special = {token["id"] for token in tokenizer["added_tokens"]}
    pieces, unknown = tokenizer["model"]["vocab"], tokenizer["model"]["unk_id"]
    writer.add_tokenizer_model("t5")
    writer.add_token_list([piece for piece, _ in pieces])
    writer.add_token_scores([score for _, score in pieces])
    writer.add_token_types([2 if id == unknown else 3 if id in special else 1 for id in range(len(pieces))])
    table = next(step for step in tokenizer["normalizer"]["normalizers"] if step["type"] == "Precompiled")
    writer.add_precompiled_charsmap(base64.b64decode(table["precompiled_charsmap"]))
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    ids = {piece: id for id, (piece, _) in enumerate(pieces)}
    writer.add_bos_token_id(ids["<s>"])
    writer.add_eos_token_id(ids["</s>"])


def make(folder, vocabulary):
    config = json.loads((HERE / folder / "config.json").read_text())
    writer = gguf.GGUFWriter(HERE / f"{folder}.gguf", "bert")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    vocabulary(writer, json.loads((HERE / folder / "tokenizer.json").read_text()))
    for name, tensor in load_file(HERE / folder / "model.safetensors").items():
        writer.add_tensor(name_of(name), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    make("bert", word_pieces)
    make("bert-pieces", unigrams)
