#!/usr/bin/env python3
"""Draws docs/speed.svg from the AVX-512 tables of benches/results/peers.md: moot's speed-up over the fastest peer.

`python3 docs/speed.py` writes the file; with `--check` it fails if the file is not what the tables give.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "benches/results/peers.md"
CHART = ROOT / "docs/speed.svg"
SECTION = "## AVX-512, AMX refused"
MODELS = {"SmolLM2": "SmolLM2-135M", "0.5B": "Qwen2.5-Coder-0.5B", "1.5B": "Qwen2.5-Coder-1.5B"}
TASKS = {"prefill": "prefill, 512 tokens", "1 row": "decode, 1 row", "8 rows": "decode, 8 rows"}
PEERS = ("OpenVINO", "vLLM", "llama.cpp", "ik_llama.cpp")
LEFT, TOP, ROW, UNIT, WIDTH = 310, 54, 24, 140, 860

STYLE = """
  .ground { fill: #ffffff } text { fill: #24292f } .faint { fill: #57606a }
  .bar { fill: #2f6fb3 } .line { stroke: #8c959f }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } text { fill: #e6edf3 } .faint { fill: #9da7b1 }
    .bar { fill: #5b9bdc } .line { stroke: #6e7681 }
  }
"""


def tables():
    """The rows of the section's tables, each as a dictionary from its column to its cell, one list a table."""
    text = TABLES.read_text()
    section = text[text.index(SECTION) + len(SECTION):].split("\n## ")[0]
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()]
        found.append([dict(zip(lines[0], line)) for line in lines[2:]])
    return found


def tokens(cell):
    return float(re.match(r"[\d.]+", cell).group())


def speedups():
    """`{(model, task): (speed-up, peer, tokens per second)}` of the fastest peer of each row."""
    best = {}
    for table in tables():
        model = None
        for row in table:
            name = row[""]
            model = next((full for short, full in MODELS.items() if short in name.split(":")[0]), model)
            task = next(full for short, full in TASKS.items() if short in name)
            own = next(tokens(cell) for column, cell in row.items() if column.startswith("moot"))
            for peer in PEERS:
                if peer in row:
                    found = (own / tokens(row[peer]), peer, own)
                    best[model, task] = min(best.get((model, task), found), found)
    return best


def chart():
    best = speedups()
    assert len(best) == len(MODELS) * len(TASKS), "a row of the tables is missing"
    height = TOP + ROW * len(best) + 34
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="13">',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>',
        '<text x="20" y="28" font-size="15">Speed-up of moot over the fastest of llama.cpp, ik_llama.cpp, OpenVINO and '
        "vLLM</text>",
    ]
    for index, ((model, task), (ratio, peer, own)) in enumerate(best.items()):
        y = TOP + index * ROW
        if index % len(TASKS) == 0:
            out.append(f'<text x="20" y="{y + 14}">{model}</text>')
        out.append(f'<text class="faint" x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{task}</text>')
        out.append(f'<rect class="bar" x="{LEFT}" y="{y + 2}" width="{ratio * UNIT:.0f}" height="{ROW - 8}"/>')
        rate = f"{own:,.0f}" if own >= 100 else f"{own:.1f}"
        label = f'{ratio:.1f}x {peer} <tspan class="faint">{rate} tok/s</tspan>'
        out.append(f'<text x="{LEFT + ratio * UNIT + 8:.0f}" y="{y + 14}">{label}</text>')
    bottom = TOP + ROW * len(best)
    one = LEFT + UNIT
    out.append(f'<line class="line" x1="{one}" y1="{TOP - 6}" x2="{one}" y2="{bottom}" stroke-dasharray="4 3"/>')
    out.append(f'<text class="faint" x="{one}" y="{bottom + 16}" text-anchor="middle">1x: as fast as the peer</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    if sys.argv[1:] == ["--check"]:
        if CHART.read_text() != chart():
            sys.exit("docs/speed.svg differs from the tables of benches/results/peers.md: run python3 docs/speed.py")
        return
    CHART.write_text(chart())


if __name__ == "__main__":
    main()
