"""Runs and their records."""

from __future__ import annotations

from pathlib import Path

import pytest

import moot


def test_a_run_is_recorded_and_goes_on(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    [first] = engine.run(three, tmp_path / "run.jsonl", method="naive-rag", max_tokens=8, limit=2)
    [second] = engine.run(three, tmp_path / "run.jsonl", method="naive-rag", max_tokens=8, answers=tmp_path / "a.csv")
    assert (first.progress.done, second.progress.before, second.progress.done) == (2, 2, 3)
    assert second.answers and Path(second.answers).read_text().count("\n") == 4
    record = second.record()
    assert record.header["settings"]["max_tokens"] == 8 and len(record.questions) == 3
    assert all(question.answer is not None and question.calls for question in record.questions)
    with pytest.raises(moot.MootError, match="other settings"):
        engine.run(three, tmp_path / "run.jsonl", method="naive-rag", max_tokens=9)


def test_several_methods_have_a_record_each(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    reports = engine.run(three, tmp_path / "runs/", method="naive-rag,concatenated", max_tokens=8)
    assert [report.record().header["method"] for report in reports] == ["naive-rag", "concatenated"]


def test_an_exception_of_the_progress_ends_the_run(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    def fails(progress: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.run(three, tmp_path / "run.jsonl", method="naive-rag", max_tokens=8, on_progress=fails)
    [report] = engine.run(three, tmp_path / "run.jsonl", method="naive-rag", max_tokens=8)
    assert report.progress.done == 3


def test_what_is_wrong_with_a_run_names_its_field(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    for options, field in [({"in_flight": 0}, "run.in_flight"), ({"limit": 1, "sample": 1}, "run.sample"),
                           ({"dry_run": True}, "run.dry_run"), ({"rounds": 2}, "rounds")]:
        with pytest.raises(moot.OptionError) as raised:
            engine.run(three, tmp_path / "run.jsonl", method="naive-rag", **options)  # type: ignore[arg-type]
        assert raised.value.field == field
    with pytest.raises(moot.FileError) as missing:
        engine.run(tmp_path / "nowhere.jsonl", tmp_path / "run.jsonl")
    assert missing.value.path == str(tmp_path / "nowhere.jsonl")


def test_a_changed_line_is_found(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    engine.run(three, path, method="naive-rag", max_tokens=8)
    path.write_text(path.read_text().replace('"max_tokens":8', '"max_tokens":9'))
    with pytest.raises(moot.InputError) as raised:
        moot.records(path)
    assert raised.value.line == 1 and raised.value.path == str(path)


def test_to_pandas_has_a_row_a_question(engine: moot.Engine, three: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    [report] = engine.run(three, tmp_path / "run.jsonl", method="naive-rag", max_tokens=8)
    frame = report.record().to_pandas()
    assert list(frame["method"]) == ["naive-rag"] * 3 and (frame["calls"] == 1).all()
    assert frame["generated"].between(1, 8).all() and frame["gold"].map(len).gt(0).all()
