"""Runs a command in a terminal of 100 columns and writes what it shows.

    python3 docs/recordings/record.py NAME -- COMMAND...

writes NAME.cast (asciicast version 2: a line of settings, then [seconds, "o", text] a line; `asciinema play` shows it in
time) and NAME.svg (everything that was printed, as it stands at the end). Needs: pip install pyte rich.
"""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte
from rich.console import Console
from rich.text import Text

COLUMNS, LINES = 100, 40
# Lines that are kept above the screen.
HISTORY = 2000


def run(command: list[str]) -> tuple[list[tuple[float, str]], int]:
    """What the command writes to its terminal, with the seconds since its start, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    start = time.monotonic()
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True)
    os.close(theirs)
    events, rest = [], b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # Linux reports the end of a terminal as an error.
            data = b""
        if not data:
            break
        rest += data
        text = rest.decode("utf-8", errors="ignore")
        rest = rest[len(text.encode()):]
        events.append((time.monotonic() - start, text))
    return events, child.wait()


def screen(events: list[tuple[float, str]]) -> list[Text]:
    """The lines as they stand at the end, those that have scrolled away included."""
    shown = pyte.HistoryScreen(COLUMNS, LINES, history=HISTORY, ratio=1)
    stream = pyte.Stream(shown)
    for _, text in events:
        stream.feed(text)
    rows = list(shown.history.top) + [shown.buffer[line] for line in range(LINES)]
    lines = [line(row) for row in rows]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return lines


def line(row) -> Text:
    text = Text()
    for column in range(COLUMNS):
        cell = row[column]
        styles = [name for name in ("bold", "italics", "underscore") if getattr(cell, name)]
        styles = [{"italics": "italic", "underscore": "underline"}.get(name, name) for name in styles]
        if cell.fg != "default":
            colour = cell.fg.replace("bright", "bright_").replace("brown", "yellow")
            styles.append(f"#{colour}" if len(colour) == 6 and all(c in "0123456789abcdef" for c in colour) else colour)
        text.append(cell.data, " ".join(styles))
    text.rstrip()
    return text


def main() -> None:
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        sys.exit("usage: record.py NAME -- COMMAND...")
    name, command = Path(sys.argv[1]), sys.argv[3:]
    events, code = run(command)
    typed = "moot " + shlex.join(command[1:])
    settings = {"version": 2, "width": COLUMNS, "height": LINES, "command": typed}
    lines = [json.dumps(settings)] + [json.dumps([round(at, 3), "o", text]) for at, text in events]
    name.with_suffix(".cast").write_text("\n".join(lines) + "\n", encoding="utf-8")
    console = Console(width=COLUMNS, record=True, file=open(os.devnull, "w", encoding="utf-8"), legacy_windows=False)
    console.print(Text(f"$ {typed}", "bold"))
    for text in screen(events):
        console.print(text, no_wrap=True, overflow="crop")
    # The picture must ask no server for a font.
    picture = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="moot"), flags=re.DOTALL)
    name.with_suffix(".svg").write_text(picture, encoding="utf-8")
    sys.exit(code)


if __name__ == "__main__":
    main()
