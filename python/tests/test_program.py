"""The program that the wheel installs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import moot
from conftest import pdf

PROGRAM = Path(sysconfig.get_path("scripts")) / ("moot.exe" if os.name == "nt" else "moot")


def program(*typed: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, typed)], capture_output=True, text=True, cwd=cwd, timeout=120)


def test_it_is_installed_and_has_the_version_of_the_package() -> None:
    assert program("--version").stdout == f"moot {moot.__version__}\n"
    assert subprocess.run([sys.executable, "-m", "moot", "--version"], capture_output=True, text=True).stdout == (
        f"moot {moot.__version__}\n"
    )


def test_it_exits_as_the_program_does() -> None:
    wrong = program("ask", "--nothing")
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: ") and "Traceback" not in wrong.stderr
    assert program("score", "nowhere.jsonl").returncode == 1
    assert "Options:" in program("--help").stdout


def test_it_reads_pdf_files_in_processes_of_their_own(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.pdf").write_bytes(pdf(f"The {name} was born in 1968."))
    # Two names that a worker would find first if it looked for modules where it is started.
    for name in ("moot.py", "signal.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')")
    asked = program("ask", "When?", "--docs", "docs", "--model", tiny, "--kv-memory", "64M", "--max-tokens", "8",
                    "--offline", "--full", cwd=tmp_path)
    assert asked.returncode == 0 and "one.pdf" in asked.stdout, asked.stderr
    indexed = program("index", "build", "docs", "-o", "index", "--embedder", "none", cwd=tmp_path)
    # A worker that does not start is not counted: the file is read in the program.
    assert indexed.returncode == 0 and "PDF files were read in" in indexed.stderr, indexed
    assert "0 of them ended by a file" in indexed.stderr, indexed


def test_a_newer_document_contradicts_a_claim(engine: moot.Engine, tmp_path: Path) -> None:
    from moot._json import fields, read

    text = "Mira Tolland was born in 1968."
    documents = [{"text": text, "date": "1994"}, {"text": "Mira Tolland, born 1931.", "date": "2024"}]
    engine.conflict(text, documents, switches={"claims": "whole"}, output=tmp_path / "claims.jsonl", max_tokens=8)
    # A person's labels, since those of the tiny model are senseless.
    labels = [{"claim": 1, "document": 1, "label": "supports"}, {"claim": 1, "document": 2, "label": "contradicts"}]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    corrected = program("conflict", "correct", "claims.jsonl", "labels.jsonl", "--format", "json", cwd=tmp_path)
    assert corrected.returncode == 0, corrected.stderr
    assessed = json.loads(corrected.stdout)
    [claim] = read(moot.Assessment, assessed).claims
    assert claim.newest == moot.Newest(supporting="1994", contradicting="2024", contradicted=True) and claim.conflict
    assert set(assessed["claims"][0]["newest"]) == set(fields(moot.Newest))


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_a_run_that_goes_on_later(tiny: Path, three: Path, tmp_path: Path) -> None:
    typed: list[str | Path] = [PROGRAM, "run", three, "--model", tiny, "--kv-memory", "64M", "--method", "madam-rag", "--offline",
             "-o", tmp_path / "run.jsonl", "--in-flight", "1"]
    child = subprocess.Popen([*typed, "--max-tokens", "2000"], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run.jsonl").exists():
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert child.returncode == 130 and "Traceback" not in told


def test_importing_takes_little_and_no_other_package() -> None:
    loaded = "import sys, moot; print(sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 'pandas'}))"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True).stdout == "[]\n"
