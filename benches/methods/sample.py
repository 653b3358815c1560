"""Questions and corpora of benches/methods/run.sh, in the order of the SHA-256 of the question.

    python benches/methods/sample.py DATA FOLDER

DATA has ramdocs/dev100.jsonl, qacc/ConflictQA_train_dev.json, hotpotqa/dev500_ircot.jsonl and strategyqa/dev.json. FOLDER gets the
first 10, 20 and 100 questions of each (of QACC's, half are conflicting), and as corpora the documents of RAMDocs' 100 questions and
of 100 of QACC, and all paragraphs of HotpotQA's 500.
"""

import hashlib
import json
import sys
from pathlib import Path

SIZES = (10, 20, 100)


def ordered(items, name="question"):
    """The items by the hash of their question."""
    return sorted(items, key=lambda item: hashlib.sha256(item[name].encode()).hexdigest())


def conflicting_and_others(items, count):
    """Of `count` questions one half that the annotators call conflicting, in turn with the others."""
    # QACC has NaN where an answer is missing, which differs from itself.
    answered = [item for item in items if item["correctAnswer"] == item["correctAnswer"]]
    halves = ([item for item in answered if item["secondAnswerExist"].strip().upper() == letter] for letter in "AB")
    return [item for pair in list(zip(*halves))[: count // 2] for item in pair]


def write_lines(path, items):
    """JSON Lines."""
    path.write_text("".join(json.dumps(item) + "\n" for item in items))


def write_corpus(path, documents):
    """Each document once."""
    once = {json.dumps(document): document for document in documents}
    write_lines(path, [{"id": str(number), **document} for number, document in enumerate(once.values())])


def main():
    """Writes the files."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    ramdocs = ordered(map(json.loads, (data / "ramdocs/dev100.jsonl").read_text().splitlines()))
    qacc = ordered(json.loads((data / "qacc/ConflictQA_train_dev.json").read_text()))
    hotpot = list(map(json.loads, (data / "hotpotqa/dev500_ircot.jsonl").read_text().splitlines()))
    strategy = ordered(json.loads((data / "strategyqa/dev.json").read_text()))
    for size in SIZES:
        write_lines(folder / f"ramdocs{size}.jsonl", ramdocs[:size])
        (folder / f"qacc{size}.json").write_text(json.dumps(conflicting_and_others(qacc, size)))
        write_lines(folder / f"hotpotqa{size}.jsonl", ordered(hotpot, "question_text")[:size])
        (folder / f"strategyqa{size}.json").write_text(json.dumps(strategy[:size]))
    write_corpus(folder / "ramdocs.corpus.jsonl", [{"text": document["text"]} for item in ramdocs for document in item["documents"]])
    sourced = [
        {"text": text, "source": source}
        for item in conflicting_and_others(qacc, 100)
        for text, source in zip(item["contexts"], item["sources"])
    ]
    write_corpus(folder / "qacc.corpus.jsonl", sourced)
    paragraphs = [paragraph for item in hotpot for paragraph in item["contexts"]]
    write_corpus(folder / "hotpotqa.corpus.jsonl", [{"title": p["title"], "text": p["paragraph_text"]} for p in paragraphs])


if __name__ == "__main__":
    main()
