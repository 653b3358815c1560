"""What an engine answers. Documents are numbered from 1, in the order given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from moot._json import renamed


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, or of many together."""

    prompt: int = 0
    """Tokens of prompts: `reused + computed`."""
    reused: int = 0
    """Prompt tokens that other calls had computed."""
    computed: int = 0
    """Prompt tokens computed for these calls."""
    generated: int = 0
    """Tokens generated, thoughts included."""


@dataclass(frozen=True)
class Said:
    """What a document says of an answer."""

    document: int
    """Its number, from 1."""
    answer: str | None = None
    """Its own answer, where it is another one or of another precision."""
    quote: str | None = None
    """The sentence that shows its answer, in its own words."""


@dataclass(frozen=True)
class Conflict:
    """Why an answer and another one stand beside each other."""

    kind: str
    """`namesake`, `outdated`, `near-copy` or `disagreement`."""
    with_: str = field(metadata={"json": "with"})
    """The other answer."""
    text: str = ""
    """One line for readers."""


@dataclass(frozen=True)
class Stand:
    """An answer, and where the documents stand on it."""

    text: str
    """The most precise form of it."""
    also: list[str] = field(default_factory=list)
    """Other forms of it that were concluded, less precise."""
    probability: float | None = None
    """From 0 to 1; `None` where the method gives none."""
    about: str | None = None
    """What its first document is about; `None` where the method does not say."""
    conflict: Conflict | None = None
    """The conflict with another answer."""
    supporters: list[Said] = renamed("for")
    """Documents for it."""
    opponents: list[Said] = renamed("against")
    """Documents against it."""
    mentioned: list[Said] = field(default_factory=list)
    """Documents that hold its words, where no agent spoke for them."""
    marks: list[str] = field(default_factory=list)
    """What the documents lack of it: `no-supporter`, `not-in-documents`."""


@dataclass(frozen=True)
class Listed:
    """A document that was read."""

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
    origin: str | None = None
    """Where a passage of a corpus stands: `notes/a.md:12 (characters 340-512)`."""
    notes: list[str] = field(default_factory=list)
    """Notes on how its file was read."""


@dataclass(frozen=True)
class Answer:
    """An answered question."""

    question: str
    """The question."""
    method: str
    """The method."""
    outcome: str
    """`answered`, `unknown`, or `malformed`: the concluding reply did not keep its format."""
    answers: list[Stand]
    """The concluded answers, best first."""
    rejected: list[Stand]
    """Answers that some document gives and that were not concluded."""
    documents: list[Listed]
    """The documents that were read."""
    no_answer: str | None = None
    """Why there is no answer, one sentence."""
    explanation: str = ""
    """The concluding role's reasons; empty where arithmetic decides."""
    refused: list[str] = field(default_factory=list)
    """Concluded answers that occur in a prompt's worked example and in no document: refused."""
    without_answer: list[int] = field(default_factory=list)
    """Numbers of the documents that give no answer."""
    malformed: list[int] = field(default_factory=list)
    """Numbers of the documents whose agents' last reply does not keep its format."""
    rounds: int = 0
    """Rounds held."""
    calls: int = 0
    """Calls of models, those that reused an earlier reply included."""
    usage: Usage = field(default_factory=Usage)
    """Their tokens."""
    seconds: float = 0.0
    """Wall time."""
    notes: list[str] = field(default_factory=list)
    """Lines on what was read and left out."""

    def __str__(self) -> str:
        """The answers, one a line, with the numbers of the documents for and against them."""
        lines = []
        for stand in self.answers:
            numbers = [(word, [said.document for said in all]) for word, all in
                       (("for", stand.supporters), ("against", stand.opponents))]
            told = "; ".join(f"{word} {', '.join(map(str, documents))}" for word, documents in numbers if documents)
            probable = "" if stand.probability is None else f" ({stand.probability:.0%})"
            lines.append(f"{stand.text}{probable}{': ' if told else ''}{told}")
        return self.no_answer or "\n".join(lines)


@dataclass(frozen=True)
class Call:
    """A call of a model and its reply."""

    number: int
    """Its index among the calls of its question, from 0."""
    stage: int
    """From 0; calls of one stage depend only on earlier ones."""
    round: int
    """From 1."""
    role: str
    """`agent`, `aggregator`, `reader` and others."""
    document: int | None
    """The number of the document that it speaks for, from 1."""
    sample: int
    """Which of several samples of one call, from 0."""
    format: str
    """The format of the reply."""
    messages: list[dict[str, str]]
    """The chat as sent; empty for a raw prompt."""
    reply: str
    """As it came, with what it was begun with."""
    thoughts: str | None
    """Thoughts before it."""
    answers: list[str] | None
    """The answers of a reply that gives one or a list; empty for "unknown". `None` for other formats."""
    chosen: str | None
    """The option that it chose, of those offered."""
    explanation: str | None
    """The reasons beside an answer."""
    data: Any
    """The object of a reply that keeps a schema, and the fields of other formats that have some."""
    malformed: bool
    """It does not keep its format."""
    score: float | None
    """Mean log-probability of the scored tokens, natural logarithm."""
    cut: bool
    """Its limit of tokens ended it."""
    usage: Usage
    """Its tokens."""
    seconds: float
    """From submission to the last token."""

    @property
    def answer(self) -> str | None:
        """The first answer; `None` where it is unknown or malformed, or the format has none."""
        return self.answers[0] if self.answers else None


@dataclass(frozen=True)
class Reply:
    """A generated reply."""

    text: str
    """Without thoughts."""
    thoughts: str | None = None
    """Thoughts before it, of models that can think."""
    data: Any = None
    """The JSON value of a reply that keeps a schema; `None` without a schema, and where the reply was cut."""
    cut: bool = False
    """Its limit of tokens ended it."""
    usage: Usage = field(default_factory=Usage)
    """Its tokens."""
    seconds: float = 0.0
    """From submission to the last token."""


@dataclass(frozen=True)
class Event:
    """Something that happened while a model was opened or a question answered."""

    kind: str
    """`note`, `opening`, `fetching`, `indexing`, `running`, `stage`, `call`, `document`, `retrieval`, `entailment`,
    `embedding`, `failure` or `fallback`; of a comparison `documents`, `reading`, `embedding`, `pairs`, `labelling`."""
    name: str | None = None
    """Of a model or a document."""
    text: str | None = None
    """A line for readers, or the text of a document."""
    done: int | None = None
    """Bytes fetched, passages indexed, questions answered, pairs labelled."""
    total: int | None = None
    """Of so many."""
    stage: int | None = None
    """The stage of a question, from 0."""
    calls: int | None = None
    """The calls of a stage."""
    call: Call | None = None
    """An answered call."""
    data: Any = None
    """More, as a dict."""
