"""Where documents contradict each other. Documents are numbered from 1."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Statement:
    """A statement of a document."""

    document: int
    """The document's number."""
    file: str
    """Its file, or its name."""
    quote: str
    """The sentence, verbatim but for white space."""
    line: int | None = None
    """Line from 1, where the file has lines."""
    page: int | None = None
    """Page from 1, where the file has pages."""
    source: str | None = None
    """The document's publisher or author."""
    date: str | None = None
    """The document's date, as given."""
    about: str = ""
    """The referent of the pronoun it begins with; else empty."""


@dataclass(frozen=True)
class Side:
    """The statements that agree on one value."""

    values: list[str]
    """The differing numbers, dates or names, as far as they were found."""
    statements: list[Statement]
    """At least one; the surest first."""
    odd: bool
    """Outnumbered: another side has more documents, at least two."""
    newest: bool
    """The newest document of the finding is on this side, and documents of other sides are older."""


@dataclass(frozen=True)
class Finding:
    """A fact on which documents contradict each other."""

    probability: float
    """From 0 to 1."""
    kind: str
    """What differs: `number`, `date`, `name`, `negation`, `superseded`, `scope` or `statement`."""
    sides: list[Side]
    """At least two."""


@dataclass(frozen=True)
class Subject:
    """The findings about one subject, the most probable first."""

    subject: str
    """In words of a document."""
    findings: list[Finding]
    """At least one."""


@dataclass(frozen=True)
class Compared:
    """A document that was compared."""

    file: str
    """Its file, or its name."""
    title: str | None = None
    """Its title."""
    source: str | None = None
    """Its publisher or author."""
    date: str | None = None
    """As given."""
    copies: list[str] = field(default_factory=list)
    """Files with the same text."""


@dataclass(frozen=True)
class Counts:
    """What was done."""

    documents: int
    """Documents, copies left out."""
    sentences: int
    """Their sentences."""
    claims: int
    """Claims, equal ones counted once."""
    pairs: int
    """Pairs of claims that were compared."""
    calls: int
    """Calls of the model; kept ones are not made again."""
    failed: int
    """Calls that failed."""


@dataclass(frozen=True)
class Contradictions:
    """The contradictions of documents."""

    groups: list[Subject]
    """By subject; the subject of the most probable contradiction first."""
    documents: list[Compared]
    """The documents, in the order of their numbers."""
    counts: Counts
    """What was done."""
    notes: list[str] = field(default_factory=list)
    """Lines on what was read and left out."""

    @property
    def findings(self) -> list[Finding]:
        """The contradictions of all subjects."""
        return [finding for group in self.groups for finding in group.findings]
