#!/usr/bin/env python3
"""Writes a question with many documents and claims, to measure what sharing a document among its claims saves.

Usage: pairs.py DOCUMENTS CLAIMS > pairs.jsonl

A document has about 600 tokens: 40 statements on the mills of one town, with numbers drawn by a fixed seed. A claim is a
statement on one of the towns; half of them give another number than the town's document. Then:

    moot run pairs.jsonl -o shared.jsonl --method conflict-score --set reasons=false
    moot run pairs.jsonl -o unshared.jsonl --method conflict-score --set reasons=false --no-prefix-reuse
"""
import json
import random
import sys

TOWNS = ["Aldmouth", "Brackwater", "Cask Hill", "Dornes", "Elmstead", "Farrow", "Glenholm", "Harth", "Isk", "Jarrow"]
THINGS = ["mill", "bridge", "weir", "chapel", "school", "tannery", "ferry", "well"]
FACTS = ["was built in {}", "was repaired in {}", "cost {} crowns", "employs {} people", "stands {} paces from the river"]


def main() -> None:
    documents, claims = int(sys.argv[1]), int(sys.argv[2])
    draw = random.Random(14)
    made, stated = [], []
    for number in range(documents):
        town = f"{TOWNS[number % len(TOWNS)]} {'North South East West'.split()[number // len(TOWNS) % 4]}"
        facts = [(thing, fact, draw.randint(100, 1990)) for thing in THINGS for fact in FACTS]
        draw.shuffle(facts)
        text = " ".join(f"The {thing} of {town} {fact.format(value)}." for thing, fact, value in facts)
        made.append({"title": f"{town}.txt", "text": text})
        stated.append([(town, *fact) for fact in facts])
    chosen = []
    for number in range(claims):
        town, thing, fact, value = draw.choice(stated[number % documents])
        value += 7 if number % 2 else 0
        chosen.append(f"The {thing} of {town} {fact.format(value)}.")
    json.dump({"id": "pairs", "question": "What is true of these towns?", "documents": made, "claims": chosen}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
