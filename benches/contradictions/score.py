"""Scores `moot contradictions` on a folder with planted contradictions and traps.

    python3 benches/contradictions/score.py choose -m qwen2.5-coder-1.5b [--moot PATH] [--keep FOLDER] [arguments of moot]

Prints precision and recall of what is reported, and the funnel: of the planted pairs, how many have both statements among the
claims' pairs, and how many of these are reported. With --keep, the pairs and the report are left in FOLDER.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def lines(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]


def words(text):
    return " ".join(text.split())


def is_side(side, file, quote):
    return os.path.basename(side["file"].split(":")[0]) == file and words(quote) in words(side["quote"])


def matches(pair, planted):
    (file_a, quote_a), (file_b, quote_b) = planted["a"], planted["b"]
    one, two = pair["a"], pair["b"]
    straight = is_side(one, file_a, quote_a) and is_side(two, file_b, quote_b)
    return straight or (is_side(two, file_a, quote_a) and is_side(one, file_b, quote_b))


def pairs_of(finding):
    """Every pair of statements on different sides."""
    sides = [side["statements"] for side in finding["sides"]]
    return [
        {"a": a, "b": b}
        for i, one in enumerate(sides) for two in sides[i + 1:] for a in one for b in two
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("-m", "--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--moot", default="target/release/moot")
    parser.add_argument("--keep", help="where pairs and report are written")
    args, rest = parser.parse_known_args()  # The rest are arguments of moot.
    folder = os.path.join(HERE, args.folder)
    planted, traps = lines(folder + ".planted.jsonl"), lines(folder + ".traps.jsonl")
    keep = args.keep or tempfile.mkdtemp()
    os.makedirs(keep, exist_ok=True)
    pairs_file, report_file = os.path.join(keep, "pairs.jsonl"), os.path.join(keep, "report.json")
    began = time.time()
    subprocess.run(
        [args.moot, "contradictions", folder, "-m", args.model, "--json", "--pairs", pairs_file, "-o", report_file, *rest],
        check=True, stdout=subprocess.DEVNULL,
    )
    seconds = time.time() - began
    pairs, report = lines(pairs_file), json.load(open(report_file, encoding="utf-8"))
    findings = [finding for group in report["groups"] for finding in group["findings"]]
    found, false, again = set(), [], 0
    for finding in findings:
        hit = {i for i, plant in enumerate(planted) if any(matches(pair, plant) for pair in pairs_of(finding))}
        if not hit:
            false.append(finding)
        elif hit <= found:
            again += 1
        found |= hit
    for i, plant in enumerate(planted):
        best = max((pair["probability"] for pair in pairs if matches(pair, plant)), default=None)
        state = "found" if i in found else "not paired" if best is None else f"labelled {best:.2f}"
        print(f"{plant['kind']:11} {state:14} {plant['a'][1]} / {plant['b'][1]}")
    for trap in traps:
        best = max((pair["probability"] for pair in pairs if matches(pair, trap)), default=None)
        print(f"trap {trap['trap']:10} {'not paired' if best is None else format(best, '.2f'):10} {trap['a'][1]} / {trap['b'][1]}")
    for finding in false:
        pair = pairs_of(finding)[0]
        print(f"false {finding['probability']:.2f} {pair['a']['quote'][:70]} / {pair['b']['quote'][:70]}")
    paired = sum(any(matches(pair, plant) for pair in pairs) for plant in planted)
    reported = len(findings) - again
    precision, recall = (reported - len(false)) / max(reported, 1), len(found) / len(planted)
    print(json.dumps({
        "folder": args.folder, "model": args.model, "planted": len(planted), "paired": paired, "found": len(found),
        "reported": len(findings), "false": len(false), "again": again, "precision": round(precision, 3),
        "recall": round(recall, 3), "pairs": len(pairs), "calls": report["counts"]["calls"], "seconds": round(seconds),
    }))


if __name__ == "__main__":
    main()
