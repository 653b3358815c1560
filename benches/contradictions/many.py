"""Writes N files of about 2 kB, to measure how time and memory of `moot contradictions` grow.

    python3 benches/contradictions/many.py N FOLDER
"""

import os
import random
import sys

PLACES = ["Alder", "Birch", "Cobble", "Dunmore", "Elstow", "Fenwick", "Garrow", "Hexley", "Ivel", "Jarrow", "Kelby", "Lydney"]
ENDS = ["ton", "ford", "by", "ham", "stead", "mouth", "wick", "dale", "field", "bridge"]
THINGS = ["bridge", "mill", "library", "school", "harbour", "market", "museum", "station", "chapel", "theatre", "pump", "ferry"]
PEOPLE = ["Ada Brook", "Carl Ruhl", "Edith Marlow", "Samuel Thorne", "Olive Renshaw", "Colin Dyer", "Priya Nair", "Tomas Berg"]
FACTS = [
    "The {thing} at {place} was built in {year} by {person}.",
    "It has {number} windows and a roof of slate.",
    "About {number} people visit the {thing} in {place} every summer.",
    "{person} looked after the {thing} until {year}.",
    "The road from {place} to {other} is {small} miles long.",
    "Tickets for the {thing} cost {small} pounds, and children pay half.",
    "A storm in {year} damaged the {thing}, and the repairs took {small} months.",
    "The {thing} is open from {small} in the morning on weekdays.",
    "Dogs are welcome in the yard of the {thing} at {place}.",
    "In {year} the council of {place} sold the {thing} to {person}.",
]


def main():
    count, folder = int(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(1)
    for number in range(count):
        place = draw.choice(PLACES) + draw.choice(ENDS)
        text = f"# Notes on {place}\n\n"
        while len(text) < 2000:
            fact = draw.choice(FACTS).format(
                thing=draw.choice(THINGS), place=place, other=draw.choice(PLACES) + draw.choice(ENDS),
                person=draw.choice(PEOPLE), year=draw.randint(1700, 2020), number=draw.randint(20, 4000), small=draw.randint(2, 11),
            )
            text += fact + (" " if draw.random() < 0.7 else "\n\n")
        with open(os.path.join(folder, f"note{number:04}.md"), "w", encoding="utf-8") as file:
            file.write(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
