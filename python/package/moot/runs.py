"""What a run over a dataset did."""

from __future__ import annotations

from dataclasses import dataclass, field

from moot.answers import Usage
from moot.records import Record, records


@dataclass(frozen=True)
class Progress:
    """Counts of a run."""

    total: int
    """Questions in all."""
    done: int
    """Questions recorded, those of earlier runs included."""
    before: int
    """Questions recorded before this run began."""
    calls: int
    """Calls of the questions that this run recorded."""
    malformed: int
    """Replies that did not keep their format."""
    errors: int
    """Questions of this run recorded with an error."""
    usage: Usage
    """Tokens of these calls."""
    seconds: float
    """Since this run began."""


@dataclass(frozen=True)
class RunReport:
    """The result of one method over a dataset."""

    output: str
    """The record."""
    progress: Progress
    """Counts of this run."""
    answers: str | None = None
    """The table of answers, where one was asked for."""
    unanswered: str | None = None
    """One line where questions of the record ended in an error."""
    notes: list[str] = field(default_factory=list)
    """Lines on what was skipped."""

    def record(self) -> Record:
        """The record, read."""
        return records(self.output)
