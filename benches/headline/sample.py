"""The questions of the headline runs: RAMDocs' and QACC's in the order of the SHA-256 of the question; of QACC's, half are
conflicting.

    python benches/headline/sample.py dev100.jsonl ConflictQA_train_dev.json FOLDER

Writes ram100.jsonl, ram40.jsonl, qacc40.json and qacc100.json.
"""

import hashlib
import json
import sys
from pathlib import Path


def ordered(items):
    """The items by the hash of their question."""
    return sorted(items, key=lambda item: hashlib.sha256(item["question"].encode()).hexdigest())


def main():
    """Writes the files."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    ramdocs, qacc, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    questions = ordered(map(json.loads, ramdocs.read_text().splitlines()))
    for size in (100, 40):
        (folder / f"ram{size}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in questions[:size]))
    # QACC has NaN where an answer is missing, which differs from itself.
    answered = [item for item in ordered(json.loads(qacc.read_text())) if item["correctAnswer"] == item["correctAnswer"]]
    for size in (40, 100):
        kinds = ([item for item in answered if item["secondAnswerExist"].strip().upper() == letter] for letter in "AB")
        conflicting, others = (items[: size // 2] for items in kinds)
        chosen = [item for pair in zip(conflicting, others) for item in pair]
        (folder / f"qacc{size}.json").write_text(json.dumps(chosen))


if __name__ == "__main__":
    main()
