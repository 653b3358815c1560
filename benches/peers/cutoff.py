"""Measures the relevance cut-off of `moot index search`: what it keeps of supporting passages, and of unrelated ones.

    python3 benches/peers/cutoff.py dev500_ircot.jsonl --ramdocs dev100.jsonl [--moot target/release/moot]

HotpotQA (questions with ten paragraphs, two of them supporting) and RAMDocs are divided into halves: the first was used to
choose the cut-off, the second confirms it. Of each half three searches by words, top 5:

    corpus   the paragraphs of 125 questions in one index; those questions, and 125 others
    folder   an index for each question, of its ten paragraphs; the question, and another
    ramdocs  an index for each question, of its documents (those that are not noise support it); the question, and another
"""

import argparse
import json
import pathlib
import subprocess
import tempfile


def search(moot, documents, queries, cutoff):
    """Texts found for each query."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "c.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
        (folder / "q").write_text("".join(" ".join(query.split()) + "\n" for query in queries))
        run = lambda *typed: subprocess.run([moot, "index", *typed], check=True, capture_output=True, text=True).stdout
        run("build", str(folder / "c.jsonl"), "-o", str(folder / "i"), "--embedder", "none", "--words", "0")
        flags = ["--top", "5", "--no-fold", "--json", "--cutoff", cutoff, "--queries", str(folder / "q")]
        found = [[] for _ in queries]
        for line in run("search", str(folder / "i"), *flags).splitlines():
            hit = json.loads(line)
            found[hit["query"] - 1].append(hit["text"])
        return found


class Counts:
    def __init__(self):
        self.relevant = self.kept = self.unrelated = self.dropped = self.questions = self.empty = 0

    def related(self, supporting, nearest, left):
        self.relevant += sum(text in supporting for text in nearest)
        self.kept += sum(text in supporting for text in left)

    def other(self, nearest, left):
        self.unrelated += len(nearest)
        self.dropped += len(nearest) - len(left)
        self.questions += 1
        self.empty += not left

    def line(self, name):
        share = lambda part, all: f"{part / max(all, 1):.3f} of {all}"
        print(f"{name}: supporting kept {share(self.kept, self.relevant)}; unrelated dropped "
              f"{share(self.dropped, self.unrelated)}; other questions without a passage {share(self.empty, self.questions)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hotpotqa")
    parser.add_argument("--ramdocs")
    parser.add_argument("--moot", default="target/release/moot")
    args = parser.parse_args()
    read = lambda path: [json.loads(line) for line in open(path, encoding="utf-8")]
    sets = {"folder": [], "ramdocs": []}
    for question in read(args.hotpotqa):
        documents = [{"text": c["paragraph_text"], "title": c["title"]} for c in question["contexts"]]
        supporting = {c["paragraph_text"] for c in question["contexts"] if c["is_supporting"]}
        sets["folder"].append((question["question_text"], documents, supporting))
    for question in read(args.ramdocs) if args.ramdocs else []:
        documents = [{"text": document["text"]} for document in question["documents"]]
        supporting = {document["text"] for document in question["documents"] if document["type"] != "noise"}
        sets["ramdocs"].append((question["question"], documents, supporting))
    for half in (0, 1):
        questions = sets["folder"][half * 250:half * 250 + 250]
        inside, outside = questions[:125], questions[125:]
        unique = {json.dumps(document): document for _, documents, _ in inside for document in documents}
        queries = [question for question, *_ in inside + outside]
        nearest, left = (search(args.moot, unique.values(), queries, cutoff) for cutoff in ("off", "on"))
        counts = Counts()
        for (_, _, supporting), before, after in zip(inside, nearest, left):
            counts.related(supporting, before, after)
        for before, after in zip(nearest[125:], left[125:]):
            counts.other(before, after)
        counts.line(f"half {half + 1}, corpus")
        for name, every in sets.items():
            middle = len(every) // 2
            questions = every[half * middle:half * middle + min(middle, 125)]
            counts = Counts()
            for at, (question, documents, supporting) in enumerate(questions):
                other = questions[(at + 7) % len(questions)][0]
                nearest, left = (search(args.moot, documents, [question, other], cutoff) for cutoff in ("off", "on"))
                counts.related(supporting, nearest[0], left[0])
                counts.other(nearest[1], left[1])
            counts.line(f"half {half + 1}, {name}")


main()
