"""Claims of a text, labelled against documents (ConflictScore). Documents are numbered from 1."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Span:
    """A range of characters (not bytes) of a document's text."""

    start: int
    """From 0."""
    end: int
    """Excluded."""


@dataclass(frozen=True)
class Quote:
    """Words of a document, with their position there."""

    text: str
    """Exactly as in the document."""
    characters: Span
    """Where they stand."""


@dataclass(frozen=True)
class Evidence:
    """A document's words for or against a claim."""

    document: int
    """Its number."""
    by: str
    """`labeller`, `classifier` or `entailment`."""
    quote: Quote | None = None
    """The words; none for a label that counts without."""
    line: int | None = None
    """The line of the document on which they begin, from 1."""
    reason: str = ""
    """The reasons given."""
    probability: float | None = None
    """The relation's probability, where one was asked for."""


@dataclass(frozen=True)
class Unsupported:
    """A label that does not count, and why."""

    document: int
    """The document's number."""
    relation: str
    """`supports`, `contradicts` or `irrelevant`, as labelled."""
    fault: str
    """`unquoted`, `malformed`, `failed` or `unsure`."""
    given: str
    """What was given as a quote, or of a failed call its error."""
    probability: float | None = None
    """The relation's probability, where one was asked for."""


@dataclass(frozen=True)
class Newest:
    """The newest dates for and against a claim, one of which is later than all of the other side."""

    supporting: str = field(metadata={"json": "for"})
    """As the document has it."""
    contradicting: str = field(metadata={"json": "against"})
    """As the document has it."""
    contradicted: bool
    """The newer document is against the claim."""


@dataclass(frozen=True)
class Claim:
    """A claim and the evidence for and against it."""

    text: str
    """The statement."""
    conflict: bool
    """It has supporters and contradictors."""
    supporters: list[Evidence]
    """Documents that support it."""
    contradictors: list[Evidence]
    """Documents that contradict it."""
    irrelevant: list[int]
    """Numbers of the documents that say nothing about it."""
    unsupported: list[Unsupported] = field(default_factory=list)
    """Labels that do not count."""
    newest: Newest | None = None
    """Which side has the newest document, where dates tell it."""
    source: int | None = field(default=None, metadata={"json": "from"})
    """The number of the document that it was taken from, where documents were compared with each other."""


@dataclass(frozen=True)
class Scores:
    """The numbers of ConflictScore."""

    claims: int
    """Claims."""
    supported: int
    """Claims with supporters alone."""
    contradicted: int
    """Claims with contradictors alone."""
    conflicting: int
    """Claims with supporters and contradictors."""
    neither: int
    """Claims with neither."""
    cs_c: float | None
    """CS-C: `conflicting / claims`, from 0 to 1."""
    cs_r: float | None
    """CS-R: the mean share of contradictors among the documents that say something, from 0 to 1."""
    labels: int
    """Labels, those included that do not count."""
    unquoted: int
    """Labels without a quote that is in the document."""
    malformed: int
    """Malformed labels."""
    failed: int
    """Labels whose call failed."""
    unsure: int
    """Labels whose probability is below the one that was asked for."""


@dataclass(frozen=True)
class Source:
    """A document that claims were compared with."""

    number: int
    """From 1."""
    name: str
    """As displayed."""
    source: str | None = None
    """Its publisher or author."""
    date: str | None = None
    """As given."""
    url: str | None = None
    """Its address."""
    position: str | None = None
    """Where a passage of a corpus stands."""
    copies: list[str] = field(default_factory=list)
    """Near-copies that count as one document with it."""


@dataclass(frozen=True)
class Assessment:
    """The claims of a text, each with the documents for and against it."""

    documents: list[Source]
    """The documents, in the order of their numbers."""
    claims: list[Claim]
    """In the order of the text."""
    scores: Scores
    """The numbers."""
    neither: str
    """How claims with neither supporters nor contradictors enter CS-R."""
    labelled_by: list[tuple[str, int]]
    """The labellers, with the number of labels of each."""
    question: str = ""
    """What the text answers."""
    responses: list[str] = field(default_factory=list)
    """The text."""
    notes: list[str] = field(default_factory=list)
    """Lines on what was left out: of the labels, and of the documents."""
    model: str = ""
    """The labeller's model, where it is known."""
