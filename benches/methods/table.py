"""A table of records, one row a method: python benches/methods/table.py RECORD..."""

import json
import os
import subprocess
import sys

COLUMNS = ("method", "n", "EM", "F1", "calls", "in", "cached", "out", "searches", "malformed", "fallbacks", "errors", "s")


def row(scored):
    """The cells of one record of `moot score --json`."""
    metrics = {name: found["mean"] for name, found in scored["metrics"].items() if found}
    yes_no = scored["metrics"].get("yes-no-em")
    # Where every answer is yes or no (StrategyQA), the metric for such answers.
    em = yes_no["mean"] if yes_no and yes_no["n"] == scored["questions"] else metrics["em"]
    samples = scored["switches"].get("samples", 1) if scored["method"] == "majority-vote" else 1
    method = scored["method"] + (f", {samples} samples a document" if samples > 1 else "")
    cells = [method, scored["questions"], f"{em:.2f}", f"{metrics['f1']:.2f}", f"{metrics['calls']:.1f}"]
    cells += [f"{metrics['prompt-tokens']:.0f}", f"{metrics['reused-tokens'] / max(metrics['prompt-tokens'], 1):.0%}"]
    cells += [f"{metrics['generated-tokens']:.0f}", f"{metrics['retriever-calls']:.1f}"]
    cells += [f"{scored['malformed_replies']}/{scored['calls']}", f"{metrics['fallbacks']:.2f}", f"{metrics['error']:.2f}"]
    return cells + [f"{metrics['seconds']:.1f}"]


def main():
    """Prints a Markdown table."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    printed = subprocess.run([os.environ.get("MOOT", "moot"), "score", "--json", *sys.argv[1:]], check=True, capture_output=True)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---|" * len(COLUMNS))
    for scored in filter(lambda scored: scored["questions"], json.loads(printed.stdout)["records"]):
        print("| " + " | ".join(map(str, row(scored))) + " |")


if __name__ == "__main__":
    main()
