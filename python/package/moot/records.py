"""Records of runs, read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moot import _moot
from moot._json import read
from moot.answers import Answer, Call

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class RecordedQuestion:
    """A question of a record."""

    id: str
    """Unique within its run."""
    question: str
    """The question."""
    answer: Answer | None
    """What was answered, as `Engine.ask` returns it; `None` where `error` says why."""
    error: str | None
    """Why there is no answer."""
    gold: list[list[str]] | None
    """The right answers, each a list of aliases; `None` where the dataset has none."""
    wrong: list[str] | None
    """Answers that the dataset says are wrong."""
    calls: list[Call]
    """Every call, in the order asked."""
    slices: list[str] = field(default_factory=list)
    """The parts of the dataset that it belongs to."""
    seconds: float = 0.0
    """Wall time, waiting for neighbours included."""


@dataclass(frozen=True)
class Record:
    """A record: one method with one model over a dataset."""

    path: str
    """Where it was read from."""
    header: dict[str, Any]
    """Everything that can change a number: `method`, `switches`, `settings`, `model`, `prompts` and more
    (`docs/records.md`)."""
    questions: list[RecordedQuestion]
    """In the order of completion."""

    def to_pandas(self) -> pandas.DataFrame:
        """One row a question: `id`, `question`, `method`, `model`, `answers` (a list of texts), `probability` (of the first
        answer), `gold` (a list of lists), `error`, `rounds`, `calls`, `prompt`, `computed`, `generated` (tokens), `seconds`.

        Needs pandas: `pip install moot[pandas]`.
        """
        import pandas

        method, model = self.header["method"], self.header["model"]["name"]
        rows = [_row(question, method, model) for question in self.questions]
        return pandas.DataFrame(rows, columns=list(_row(_NONE, "", "")))


def _row(question: RecordedQuestion, method: str, model: str) -> dict[str, Any]:
    answer = question.answer
    usages = [call.usage for call in question.calls]
    return {
        "id": question.id,
        "question": question.question,
        "method": method,
        "model": model,
        "answers": [stand.text for stand in answer.answers] if answer else None,
        "probability": answer.answers[0].probability if answer and answer.answers else None,
        "gold": question.gold,
        "error": question.error,
        "rounds": answer.rounds if answer else None,
        "calls": len(question.calls),
        "prompt": sum(usage.prompt for usage in usages),
        "computed": sum(usage.computed for usage in usages),
        "generated": sum(usage.generated for usage in usages),
        "seconds": question.seconds,
    }


_NONE = RecordedQuestion("", "", None, None, None, None, [])


def records(path: str | os.PathLike[str]) -> Record:
    """Reads the record at `path`, with every question and call.

    Raises:
        FileError: It cannot be opened.
        InputError: It is no record, or a line of it was changed; `line` says which.
    """
    header, questions = _moot.records(path)
    recorded = [read(RecordedQuestion, json.loads(question)) for question in questions]
    return Record(os.fspath(path), json.loads(header), recorded)
