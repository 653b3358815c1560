"""Methods of one's own, in Python. They run beside the program's, through the same runner, ledger and records."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from moot import _moot
from moot._json import plain, read
from moot.answers import Call
from moot.documents import Document
from moot.errors import of

Numbered = Union[int, Document]
"""A document of the question, or its number from 1."""


@dataclass(frozen=True)
class Question:
    """A question, as a method sees it. Right answers are not shown to methods."""

    id: str
    """Unique within a run; it seeds the calls."""
    text: str
    """The question."""
    options: list[str] = field(default_factory=list)
    """The options of a multiple-choice question."""


@dataclass
class Ask:
    """A call: a chat and what is wanted of its reply.

    >>> moot.Ask("Who?", format="short").messages
    'Who?'
    """

    messages: str | Sequence[Mapping[str, str]]
    """The user's message, or messages with `role` and `content`; the last one is the user's."""
    role: str = "reader"
    """One of the method's roles: each may have a model of its own."""
    document: Numbered | None = None
    """The document that the call speaks for."""
    format: str = "text"
    """The format of the reply, held by a grammar: `text`, `answer`, `answers`, `list`, `items`, `short`, `thought`,
    `about` or `choice`. The prompt has to ask for it (`docs/prompts.md`)."""
    options: Sequence[str] = ()
    """What the format `choice` chooses from."""
    schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply keeps, instead of a format: `Call.data` has its object."""
    round: int = 1
    """From 1."""
    samples: int = 1
    """Replies of this prompt, each with a seed of its own; the prompt is computed once."""
    prefill: str = ""
    """The first part of the reply, which the model continues."""
    scored: bool = False
    """Nothing is generated; `Call.score` has the mean log-probability of the prefill."""
    max_tokens: int | None = None
    """Tokens of the reply, at most; `None` takes the run's setting."""
    temperature: float | None = None
    """0 takes the likeliest token; `None` takes the run's setting."""
    top_k: int = 0
    """With a temperature: only this many of the likeliest tokens; 0 keeps all."""
    top_p: float = 1.0
    """With a temperature: the likeliest tokens that together reach this probability."""
    stop: Sequence[str] = ()
    """The reply ends before the first of these texts."""


@dataclass
class Supported:
    """An answer that a method concludes, with the documents for and against it."""

    text: str
    """The answer."""
    supporters: Sequence[Numbered] = ()
    """Documents for it."""
    opponents: Sequence[Numbered] = ()
    """Documents against it."""
    probability: float | None = None
    """From 0 to 1."""


@dataclass
class Conclusion:
    """What a method concludes, where it is more than a list of answers."""

    answers: Sequence[str | Supported] = ()
    """Best first; empty means that no answer was judged right."""
    rejected: Sequence[str | Supported] = ()
    """Answers that some document gives and that are not concluded."""
    explanation: str = ""
    """The reasons."""
    rounds: int = 1
    """Rounds held."""
    malformed: bool = False
    """The concluding reply did not keep its format; the question counts as wrong."""


class Context:
    """The context of one question: calls go through it, which records them and batches them with all others in flight."""

    def __init__(self, context: _moot.Context, documents: list[Document]) -> None:
        self._context = context
        self.documents = documents
        """The documents, in the order of their numbers from 1; passages that `retrieve` found follow."""

    def ask_all(self, asks: Sequence[Ask]) -> list[Call]:
        """Makes a stage of calls, all in flight at once, and returns their replies in the order of `asks`. An ask of
        several samples has as many replies, next to each other.

        Raises:
            QuestionError: A prompt is longer than the context.
            OptionError: An ask has no meaning; `field` names it, as `asks[0].document`.
        """
        return [read(Call, json.loads(reply)) for reply in self._context.ask_all(json.dumps([_asked(ask) for ask in asks]))]

    def ask(self, ask: Ask) -> Call:
        """Makes one call, a stage of its own."""
        return self.ask_all([ask])[0]

    def retrieve(self, *queries: str, top: int | None = None) -> list[Document]:
        """Searches the corpus for each of `queries`. The passages become documents of the question, each once.

        Raises:
            OptionError: The engine has no corpus.
        """
        found = [read(Document, document) for document in json.loads(self._context.retrieve(list(queries), top))]
        known = {document.number for document in self.documents}
        self.documents += [document for document in found if document.number not in known]
        return found

    def embed(self, texts: Sequence[str]) -> list[list[float]] | None:
        """The vectors of texts, `[texts, dimensions]`; `None` where the engine has no embedder."""
        return self._context.embed(list(texts))

    def fall_back(self, what: str) -> None:
        """Records that the method did something else than its protocol says; `moot score` counts these."""
        self._context.fall_back(what)

    def seed(self, role: str = "reader", round: int = 1, call: int = 0) -> int:
        """The seed of a random choice; it differs for every question, role, round and call, and not between runs."""
        return self._context.seed(role, round, call)


class Method:
    """A way to answer, in Python: a subclass has a `name` and `answer`.

    `answer` is called once a question, each in a thread of its own. It is straight-line code: `ctx.ask_all` sends a whole
    stage and returns when all replies are there. Its exceptions end the run and are raised, except `moot.QuestionError`,
    with which the question is recorded.

    The record names the method, has the SHA-256 of the source of its class, and the attributes of its object as switches:
    a run goes on only with the same. Attributes that begin with `_` are not recorded.

    >>> class Vote(moot.Method):
    ...     name = "vote"
    ...     def answer(self, question, ctx):
    ...         asks = [moot.Ask(f"{d.text}\\n{question.text}", document=d, format="short") for d in ctx.documents]
    ...         votes = {}
    ...         for reply in ctx.ask_all(asks):
    ...             if reply.answer:
    ...                 votes.setdefault(reply.answer, []).append(reply.document)
    ...         return [moot.Supported(text, supporters) for text, supporters in votes.items()]
    >>> engine.ask("When?", ["In 1968.", "In 1931."], method=Vote(), max_tokens=8).method
    'vote'
    """

    name: str = ""
    """As records have it; letters, digits and hyphens, and no name of the program's methods."""
    about: str = ""
    """One line; without one the first of the class's documentation."""
    roles: Sequence[str] = ("reader",)
    """The roles of its calls: each may have a model of its own."""
    documents: bool = True
    """It needs documents: those given, or passages found for the question."""
    retrieves: bool = False
    """It searches for queries of its own, and needs a corpus."""

    def answer(self, question: Question, ctx: Context) -> Conclusion | Sequence[str | Supported]:
        """Answers `question` from `ctx.documents`, in the order in which answers are best."""
        raise NotImplementedError(f"{type(self).__name__}.answer")


def described(method: object) -> str:
    """A method as the extension takes it."""
    if not isinstance(method, Method):
        found = method.__name__ if isinstance(method, type) else type(method).__name__
        raise of("option", f"method: expected a name or an object of a moot.Method, found {found}", field="method")
    kind = type(method)
    plainly = method.name.replace("-", "")
    if not (plainly.isascii() and plainly.isalnum() and method.name == method.name.lower()):
        wrong = f"expected lower-case letters, digits and hyphens, found {method.name!r}"
        raise of("option", f"{kind.__name__}.name: {wrong}", field=f"{kind.__name__}.name")
    documentation = inspect.cleandoc(kind.__doc__ or "") if kind.__doc__ is not Method.__doc__ else ""
    return json.dumps({
        "name": method.name,
        "about": method.about or documentation.partition("\n")[0],
        "protocol": documentation,
        "roles": list(method.roles),
        "documents": method.documents,
        "retriever": method.retrieves,
        "source": _source(kind),
        "parameters": _parameters(method),
    })


def _source(kind: type) -> tuple[str, str] | None:
    """The name and the text of a class's source; none where Python does not know it, as in some shells."""
    try:
        return f"{kind.__module__}.{kind.__qualname__}.py", inspect.getsource(kind)
    except (OSError, TypeError):
        return None


def _parameters(method: Method) -> dict[str, Any]:
    """The attributes of an object that its record has: numbers, texts, truth values, and what JSON can hold."""
    reserved = {"name", "about", "roles", "documents", "retrieves"}
    parameters = {}
    for name, value in vars(method).items():
        if name.startswith("_") or name in reserved:
            continue
        try:
            json.dumps(value := plain(value), allow_nan=False)
        except (TypeError, ValueError):
            field = f"{type(method).__name__}.{name}"
            wrong = f"expected a value that JSON can hold, found {type(value).__name__}"
            raise of("option", f"{field}: {wrong}", "begin its name with _ to leave it out of the record", field) from None
        parameters[name] = value
    return parameters


def answered(method: Method, question: str, context: _moot.Context) -> str:
    """Has `method` answer; what it concludes, as the extension takes it."""
    given = json.loads(question)
    documents = [read(Document, document) for document in given.pop("documents")]
    concluded = method.answer(read(Question, given), Context(context, documents))
    if not isinstance(concluded, Conclusion):
        if isinstance(concluded, str) or not isinstance(concluded, Sequence):
            field, found = f"{type(method).__name__}.answer", type(concluded).__name__
            raise of("option", f"{field}: expected a list of answers or a moot.Conclusion, found {found}", field=field)
        concluded = Conclusion(concluded)
    return json.dumps({
        "answers": [_supported(answer) for answer in concluded.answers],
        "rejected": [_supported(answer) for answer in concluded.rejected],
        "explanation": concluded.explanation,
        "rounds": concluded.rounds,
        "malformed": concluded.malformed,
    })


def _supported(answer: str | Supported) -> dict[str, Any]:
    if isinstance(answer, str):
        answer = Supported(answer)
    return {
        "text": answer.text,
        "supporters": [_number(document) for document in answer.supporters],
        "opponents": [_number(document) for document in answer.opponents],
        "probability": answer.probability,
    }


def _number(document: Numbered) -> int:
    return (document.number or 0) if isinstance(document, Document) else document


def _asked(ask: Ask) -> dict[str, Any]:
    messages = [{"role": "user", "content": ask.messages}] if isinstance(ask.messages, str) else list(map(dict, ask.messages))
    fields = {**vars(ask), "messages": messages, "options": list(ask.options), "stop": list(ask.stop)}
    if ask.document is not None:
        fields["document"] = _number(ask.document)
    return fields
