#!/usr/bin/env python3
"""Fits the logistic model of the method `moot` from a record, and cross-validates it by question.

    moot run ramdocs.jsonl --method moot --set threshold=0 -o ramdocs.moot.jsonl
    moot run benches/dated/choose.jsonl --method moot --set threshold=0 -o dated.moot.jsonl
    moot run FOLDER/attacked.jsonl --method moot --set threshold=0 -o attacked.moot.jsonl
    python3 benches/moot/fit.py ramdocs.moot.jsonl dated.moot.jsonl [--attacked attacked.moot.jsonl] [--without NAME]

Prints the intercept and the weights for `src/methods/moot/features.rs`. Records without a comparison of documents fit
all but `judged`; then, with these held, the other records fit `judged`: in `benches/dated` the false value has more
votes by construction, so its votes must not count. Without `judged` all records fit the rest together. `steering` is
fitted last, all else held, on all records and on the attacked one, whose questions have injected documents
(`benches/injection/injection.py make`); without `--attacked` it is left out. For each
record it prints, over five folds of all questions, the area under the curve and the expected calibration error in ten
bins; over five divisions into folds, strict exact match at several thresholds. A value is right if it contains a right answer and no wrong one.
`--without` leaves a quantity out. The standard library is all that it needs.
"""

import argparse
import json
import math
import random
import re
import sys
import unicodedata

NAMES = ["votes", "own", "judged", "mentions", "sureness", "altered", "steering"]
FOLDS = 5
THRESHOLDS = [0.3, 0.35, 0.4, 0.45, 0.5]  # the method's switch is one of them
RIDGE = 1.0  # on standardised quantities, as the penalty half the sum of squares
SLOPE_RIDGE = 0.0036  # as much, for `judged` and `steering`, whose deviations are about 0.06


def words(text):
    text = re.sub(r"[-–—/_]", " ", unicodedata.normalize("NFC", text).lower())
    text = "".join(c for c in text if c.isalnum() or c.isspace() or unicodedata.category(c) == "Sc")
    return [word for word in text.split() if word not in ("a", "an", "the")]


def contains(text, part):
    text, part = words(text), words(part)
    return bool(part) and any(text[i : i + len(part)] == part for i in range(len(text) - len(part) + 1))


def values(path):
    """Of a record the rows of (question, quantities, whether the value is right), and each question's gold and values."""
    rows, questions = [], {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            record = json.loads(line)
            gold = record.get("question") and record.get("conclusion") and record["question"].get("gold")
            if not gold:
                continue
            texts = []
            questions[path, number] = (gold, texts)
            for answer in record["conclusion"]["answers"] + record["conclusion"].get("rejected", []):
                if "estimate" not in answer:
                    continue
                right = any(contains(answer["text"], alias) for aliases in gold["answers"] for alias in aliases)
                wrong = any(contains(answer["text"], other) for other in gold.get("wrong", []))
                features = answer["estimate"]["features"]
                texts.append(answer["text"])
                rows.append(((path, number), [features[name] for name in NAMES], float(right and not wrong)))
    return rows, questions


def sigmoid(x):
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, x))))


def solve(matrix, vector):
    """Gaussian elimination with pivots."""
    size = len(vector)
    rows = [list(row) + [value] for row, value in zip(matrix, vector)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def fit(rows):
    """Intercept and weights, by Newton's method."""
    count = len(NAMES)
    mean = [sum(x[i] for _, x, _ in rows) / len(rows) for i in range(count)]
    scale = [math.sqrt(sum((x[i] - mean[i]) ** 2 for _, x, _ in rows) / len(rows)) or 1.0 for i in range(count)]
    inputs = [[1.0] + [(x[i] - mean[i]) / scale[i] for i in range(count)] for _, x, _ in rows]
    weights = [0.0] * (count + 1)
    for _ in range(30):
        gradient = [0.0] + [-RIDGE * w for w in weights[1:]]
        hessian = [[RIDGE if i == j and i > 0 else 0.0 for j in range(count + 1)] for i in range(count + 1)]
        for x, (_, _, y) in zip(inputs, rows):
            p = sigmoid(sum(w * v for w, v in zip(weights, x)))
            for i in range(count + 1):
                gradient[i] += (y - p) * x[i]
                for j in range(count + 1):
                    hessian[i][j] += p * (1 - p) * x[i] * x[j]
        weights = [w + step for w, step in zip(weights, solve(hessian, gradient))]
    slopes = [weights[i + 1] / scale[i] for i in range(count)]
    return weights[0] - sum(s * m for s, m in zip(slopes, mean)), slopes


def with_slope(name, model, rows):
    """The model with the weight of the quantity `name` fitted on `rows`, all else held."""
    intercept, slopes = model
    at = NAMES.index(name)
    slope = 0.0
    for _ in range(30):
        gradient, curvature = -SLOPE_RIDGE * slope, SLOPE_RIDGE
        for _, x, y in rows:
            p = predict((intercept, slopes[:at] + [slope] + slopes[at + 1 :]), x)
            gradient += (y - p) * x[at]
            curvature += p * (1 - p) * x[at] ** 2
        slope += gradient / curvature
    return intercept, slopes[:at] + [slope] + slopes[at + 1 :]


def without(name, rows):
    """The rows with the quantity `name` at zero, so that its weight is zero."""
    if name not in NAMES:
        return rows
    at = NAMES.index(name)
    return [(question, x[:at] + [0.0] + x[at + 1 :], y) for question, x, y in rows]


def fit_all(rows, attacked):
    """As `fit`, in the steps that the head of this file describes. `attacked` has the rows of the attacked record."""
    plain = without("steering", rows)
    model = fit(plain) if "judged" not in NAMES else with_judged(plain)
    return with_slope("steering", model, rows + attacked) if "steering" in NAMES and attacked else model


def with_judged(rows):
    at = NAMES.index("judged")
    compared = {question[0] for question, x, _ in rows if x[at] != 0}
    base = [row for row in rows if row[0][0] not in compared]
    model = fit(base or rows)
    of_compared = [row for row in rows if row[0][0] in compared]
    return with_slope("judged", model, of_compared) if base and compared else model


def predict(model, x):
    intercept, slopes = model
    return sigmoid(intercept + sum(s * v for s, v in zip(slopes, x)))


def area(scored):
    right, wrong = [p for p, y in scored if y], [p for p, y in scored if not y]
    won = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong)
    return won / (len(right) * len(wrong)) if right and wrong else float("nan")


def calibration(scored):
    error = 0.0
    for bin in range(10):
        inside = [(p, y) for p, y in scored if min(int(p * 10), 9) == bin]
        if inside:
            error += abs(sum(p for p, _ in inside) - sum(y for _, y in inside)) / len(scored)
    return error


def divisions(numbers, seed):
    numbers = sorted(numbers)
    random.Random(seed).shuffle(numbers)
    return [set(numbers[fold::FOLDS]) for fold in range(FOLDS)]


def is_match(given, gold):
    """Strict exact match: every right answer is given, and no wrong one."""
    found = all(any(contains(text, alias) for text in given for alias in aliases) for aliases in gold["answers"])
    return found and not any(contains(text, other) for text in given for other in gold.get("wrong", []))


def cross_validated(rows, attacked, questions, seed):
    """Each question's values with their probabilities, from a model that is fitted on the other folds."""
    scored = {question: [] for question in questions}
    for held in divisions(questions, seed):
        model = fit_all([row for row in rows if row[0] not in held], attacked)
        for question, x, y in rows:
            if question in held:
                scored[question].append((predict(model, x), y))
    return scored


def report(path, questions, runs):
    of_record = [question for question in questions if question[0] == path]
    values = [value for question in of_record for value in runs[0][question]]
    share = sum(y for _, y in values) / len(values)
    print(f"{path}: {len(of_record)} questions, {len(values)} values, {share:.3f} right")
    print(f"  area under the curve {area(values):.3f}, calibration error {calibration(values):.3f}")
    for threshold in THRESHOLDS:
        matches = []
        for run in runs:
            right = 0
            for question in of_record:
                gold, texts = questions[question]
                scored = [(p, text) for (p, _), text in zip(run[question], texts)]
                given = [text for p, text in scored if p >= threshold] or [text for _, text in sorted(scored)[-1:]]
                right += is_match(given, gold)
            matches.append(right / len(of_record))
        mean = sum(matches) / len(matches)
        print(f"  exact match at {threshold}: {mean:.3f} ({min(matches):.3f} to {max(matches):.3f})")


def main():
    parser = argparse.ArgumentParser(description="Fits the logistic model of the method `moot`.")
    parser.add_argument("records", nargs="+", metavar="RECORD", help="records of `moot run --method moot`")
    parser.add_argument("--attacked", help="a record of questions with injected documents, for `steering`")
    parser.add_argument("--without", choices=NAMES, help="leave this quantity out")
    asked = parser.parse_args()
    if asked.without:
        NAMES.remove(asked.without)
    rows, questions = [], {}
    for path in asked.records:
        of_record, of_questions = values(path)
        if not of_record:
            sys.exit(f"{path}: expected values with an estimate and gold answers, found none")
        rows += of_record
        questions.update(of_questions)
    attacked = values(asked.attacked)[0] if asked.attacked else []
    intercept, slopes = fit_all(rows, attacked)
    print(f"INTERCEPT {intercept:.3f}")
    print("WEIGHTS   " + ", ".join(f"{name} {slope:.3f}" for name, slope in zip(NAMES, slopes)))
    runs = [cross_validated(rows, attacked, questions, seed) for seed in range(5)]
    for path in asked.records:
        report(path, questions, runs)


if __name__ == "__main__":
    main()
