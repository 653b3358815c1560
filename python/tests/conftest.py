"""A tiny model, whose replies are senseless and quick, and an engine on it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import moot

ROOT = Path(__file__).resolve().parents[2]
KV_MEMORY = 64 << 20


def with_context(gguf: bytes, architecture: str, tokens: int) -> bytes:
    """The model file with another context length: its own is too short for a debate's prompts."""
    u32 = struct.pack("<I", 4)
    key = f"{architecture}.context_length".encode()
    value = gguf.index(key) + len(key) + len(u32)
    assert gguf[value - 4 : value] == u32, "the type before the value"
    return gguf[:value] + struct.pack("<I", tokens) + gguf[value + 4 :]


def pdf(text: str) -> bytes:
    """A PDF file of one page with one line."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    file, positions = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        positions.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % position for position in positions)
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(file))
    return file + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    path.write_bytes(with_context((ROOT / "models/tests/golden/tiny/llama.gguf").read_bytes(), "llama", 8192))
    return path


@pytest.fixture(scope="session")
def engine(tiny: Path) -> Iterator[moot.Engine]:
    with moot.Engine(tiny, kv_memory=KV_MEMORY, offline=True) as engine:
        yield engine


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A dataset of three questions, in the format of RAMDocs."""
    path = tmp_path / "three.jsonl"
    path.write_text((ROOT / "tests/fixtures/three.jsonl").read_text())
    return path
