"""The examples of the documentation run, and everything public is documented."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import moot
from conftest import ROOT

MODULES = ["moot", "moot.documents", "moot.engine", "moot.errors", "moot.methods", "moot.records"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str, engine: moot.Engine, tiny: Path) -> None:
    # A module's own examples may close their engine.
    globs = {"moot": moot, "TINY": tiny, "engine": engine}
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    module = importlib.import_module(name)
    found = doctest.DocTestFinder().find(module, name, extraglobs=globs)
    runner = doctest.DocTestRunner(optionflags=options)
    for test in found:
        runner.run(test)
    assert runner.failures == 0


def test_everything_public_is_documented() -> None:
    for name in moot.__all__:
        thing = getattr(moot, name)
        assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), name
        for method, function in inspect.getmembers(thing, inspect.isfunction):
            if not method.startswith("_") and function.__module__.startswith("moot"):
                assert function.__doc__, f"{name}.{method}"
        if dataclasses.is_dataclass(thing):
            source = inspect.getsource(thing)  # type: ignore[arg-type]
            for field in dataclasses.fields(thing):
                assert re.search(rf'\n    {field.name}: .*\n    """', source), f"{name}.{field.name}"


@pytest.mark.parametrize("page", ["python/README.md", "docs/python.md"])
def test_the_examples_of_the_pages_run(
    page: str, tiny: Path, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every block of Python of a page, one after the other, on the tiny model."""
    if "to_pandas" in (text := (ROOT / page).read_text()):
        pytest.importorskip("pandas")
    engine = moot.Engine
    monkeypatch.setattr(moot, "Engine", lambda *_, **options: engine(tiny, kv_memory=64 << 20, **options))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.jsonl").write_text(three.read_text())
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("Mira Tolland was born in 1968.")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
