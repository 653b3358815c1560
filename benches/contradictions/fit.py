"""Fits the logistic model of `moot contradictions` to labelled pairs of folders with planted contradictions.

    python3 benches/contradictions/fit.py choose=PAIRS.jsonl confirm=PAIRS.jsonl [--penalty 3.0] [--by-folder]

PAIRS.jsonl is what `score.py FOLDER --keep` leaves there. A pair is positive where it is a planted one. Weights are fitted by
projected gradient steps with a quadratic penalty on standardised quantities; cross-validation leaves out all pairs of two documents
at a time, or with --by-folder a whole folder, and then reports each folder. Prints the constants of src/contradictions/weights.rs.
"""

import argparse
import os

import numpy
from score import HERE, lines, matches

# Quantities that decide; the signs that a weight may have, where only one makes sense.
SIGNS = {
    "cosine": 1, "overlap": 1, "number_differs": 1, "date_differs": 1, "both_differ": -1, "names_differ": 1, "denied": 1,
    "no_difference": -1, "corrected": -1, "reported": -1, "planned": -1, "explained": -1, "years_differ": -1, "scopes_differ": -1,
    "then": -1, "head_least": 1, "head_most": 1, "subjects_differ": -1, "answers_differ": 1, "answers_both": 1, "answers_agree": -1,
    "conflict": 1, "conflict_of_words": 1,
}


def fit(x, y, penalty, signs):
    """Weights of standardised quantities with the intercept first: projected gradient steps on the penalised likelihood."""
    n, d = x.shape
    weights = numpy.zeros(d + 1)
    ones = numpy.hstack([numpy.ones((n, 1)), x])
    rate = 4.0 / numpy.linalg.norm(ones, 2) ** 2
    for _ in range(4000):
        p = 1 / (1 + numpy.exp(-ones @ weights))
        gradient = ones.T @ (p - y)
        gradient[1:] += penalty * weights[1:]
        weights = weights - rate * gradient
        wrong = numpy.sign(weights[1:]) * signs < 0
        weights[1:][wrong] = 0
    return weights


def predict(x, weights):
    return 1 / (1 + numpy.exp(-(weights[0] + x @ weights[1:])))


def report(name, p, y, planted):
    """`planted` counts the contradictions that are no pair too."""
    order = numpy.argsort(-p)
    hits = numpy.cumsum(y[order])
    best = max((2 * hits[k] / (k + 1 + y.sum()), p[order[k]]) for k in range(len(y)))
    told = p >= 0.5
    precision, recall = y[told].mean() if told.any() else 0, y[told].sum() / planted
    print(f"{name}: at 0.5 precision {precision:.2f} recall {recall:.2f}; best F1 {best[0]:.2f} at {best[1]:.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", nargs="+", help="FOLDER=PAIRS.jsonl")
    parser.add_argument("--penalty", type=float, default=3.0)
    parser.add_argument("--by-folder", action="store_true")
    parser.add_argument("--without", default="", help="quantities left out, a,b")
    parser.add_argument("--wrong", type=int, default=12, help="pairs shown that are wrong")
    args = parser.parse_args()
    pairs, y, folders, counts = [], [], [], {}
    for given in args.pairs:
        folder, path = given.split("=")
        planted = lines(os.path.join(HERE, folder + ".planted.jsonl"))
        counts[folder] = len(planted)
        for pair in lines(path):
            pairs.append(pair)
            folders.append(folder)
            y.append(float(any(matches(pair, plant) for plant in planted)))
    y = numpy.array(y)
    names = [name for name in SIGNS if name not in args.without.split(",")]
    signs = numpy.array([SIGNS[name] for name in names])
    raw = numpy.array([[pair["features"][name] for name in names] for pair in pairs])
    mean, deviation = raw.mean(0), raw.std(0)
    deviation[deviation == 0] = 1
    x = (raw - mean) / deviation
    print(f"{len(pairs)} pairs, {int(y.sum())} planted")
    held = numpy.zeros(len(y))
    documents = [tuple(sorted((pair["a"]["file"], pair["b"]["file"]))) for pair in pairs]
    groups = folders if args.by_folder else documents
    for group in sorted(set(groups)):
        out = numpy.array([own == group for own in groups])
        held[out] = predict(x[out], fit(x[~out], y[~out], args.penalty, signs))
    for folder, planted in counts.items() if args.by_folder else ():
        own = numpy.array([folder == of for of in folders])
        report(folder, held[own], y[own], planted)
    report("cross-validated", held, y, sum(counts.values()))
    weights = fit(x, y, args.penalty, signs)
    report("fitted", predict(x, weights), y, sum(counts.values()))
    plain = weights[1:] / deviation
    print(f"const INTERCEPT: f64 = {weights[0] - plain @ mean:.3f};")
    for name, weight in zip(names, plain):
        if abs(weight) > 5e-4:
            print(f'    ("{name}", {weight:.3f}),')
    wrong = sorted(zip(held, y, pairs), key=lambda item: -abs(item[0] - item[1]))[: args.wrong]
    for p, truth, pair in wrong:
        print(f"{p:.2f} {int(truth)} {pair['a']['quote'][:60]} / {pair['b']['quote'][:60]} {pair['said'] and pair['said']['answers']}")


if __name__ == "__main__":
    main()
