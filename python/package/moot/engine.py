"""The engine: models that are opened once, and what is asked of them."""

from __future__ import annotations

import json
import logging
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Union

from moot import _moot
from moot._json import plain, read
from moot.answers import Answer, Event, Reply
from moot.assessments import Assessment
from moot.contradictions import Contradictions
from moot.documents import Documents, given
from moot.errors import of
from moot.methods import Method
from moot.runs import Progress, RunReport

log = logging.getLogger("moot")

Path = Union[str, "os.PathLike[str]"]
OnEvent = Callable[[Event], object]
Messages = Union[str, Sequence[Mapping[str, str]]]
"""A chat: the user's message alone, or messages with `role` (`system`, `user`, `assistant`) and `content`."""


class _Ears:
    """Receives what happens: notes go to the log `moot`, and everything to the caller's function."""

    def __init__(self, on_event: OnEvent | None) -> None:
        self.on_event = on_event
        self.notes: list[str] = []

    def __call__(self, told: str) -> None:
        event = json.loads(told)
        if event["kind"] == "note":
            self.notes.append(event["text"])
            log.info("%s", event["text"])
        if self.on_event is not None:
            self.on_event(read(Event, event))


def _sorted(groups: Sequence[str], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Keyword arguments by the group of options that has them."""
    fields = _moot.option_fields()
    sorted_: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for name, value in options.items():
        group = next((group for group in groups if name in fields[group]), None)
        if group is None:
            known = ", ".join(name for group in groups for name in fields[group])
            raise of("option", f"{name}: expected one of {known}", field=name)
        sorted_[group][name] = plain(value)
    return sorted_


def _corpus(corpus: Path | Sequence[Path] | Mapping[str, Any] | None) -> dict[str, Any]:
    if corpus is None:
        return {}
    if isinstance(corpus, Mapping):
        return dict(plain(corpus))
    paths = [corpus] if isinstance(corpus, (str, os.PathLike)) else corpus
    return {"paths": plain(paths)}


class Engine:
    """Models that are opened once, and perhaps a corpus, an embedder and a classifier.

    Its methods may be called from any thread. They work without the GIL, and calls that are in flight at the same time are
    decoded in one batch: a reply does not depend on what else is in it. Ctrl-C ends the calls of the thread that waits.

    Args:
        model: A name of the catalog (`moot models`), a `.gguf` file or a model folder, `hf:OWNER/REPO`, or a server's
            address; `agent=A,aggregator=B` for a model a role. A model that is not here is fetched, which `on_event` tells.
        corpus: Files and folders, an index, or the address of a collection of a server, searched for questions without
            documents; a dict has more fields of `CorpusOptions`.
        embedder: The name of an embedder, for `embed` and for the vectors of `corpus`.
        classifier: The name of an NLI model; without one, models classify pairs of texts.
        on_event: Receives each `Event`, in the thread of the caller.
        options: Fields of `RuntimeOptions`: `offline`, `threads`, `kv_memory` (bytes), `device` and more.

    Raises:
        OptionError: An option has no meaning; `field` names it.
        ModelError: The model cannot be found, fetched or loaded.

    >>> engine = moot.Engine("no-such-model", offline=True)
    Traceback (most recent call last):
    ...
    moot.errors.ModelError: unknown model "no-such-model" ...
    """

    def __init__(
        self,
        model: Path = "qwen2.5-coder-1.5b",
        *,
        corpus: Path | Sequence[Path] | Mapping[str, Any] | None = None,
        embedder: str | None = None,
        classifier: str | Mapping[str, Any] | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> None:
        searched = _corpus(corpus)
        if embedder is not None:
            searched["embedder"] = embedder
        request = {"model": os.fspath(model), "corpus": searched, **_sorted(["runtime"], options)}
        if classifier is not None:
            request["classifier"] = plain(classifier) if isinstance(classifier, Mapping) else {"name": classifier}
        self._engine = _moot.Engine(json.dumps(request), _Ears(on_event))

    def ask(
        self,
        question: str,
        documents: Documents = (),
        *,
        method: str | Mapping[str, Any] | Method | None = None,
        corpus: Mapping[str, Any] | None = None,
        choices: Sequence[str] = (),
        whole: bool = False,
        output: Path | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> Answer:
        """Answers a question from documents, or from the corpus of the engine where none are given.

        Args:
            question: The question.
            documents: Texts (`str`), files and folders (`pathlib.Path`), dicts, `Document`s. At most 40 of 3,000 words.
            method: A name (`moot methods`), an object of a `Method`, or a dict of fields of `MethodOptions`.
            corpus: Settings of the search: `top`, `sources`, `from`, `until`, `by_source`.
            choices: The options of a multiple-choice question.
            whole: Documents have no limit of number and length but the model's context.
            output: The record of the debate, a new file.
            on_event: Receives each stage, call and note, in this thread.
            options: Fields of `MethodOptions`: `preset`, `switches`, `max_tokens`, `seed`, `temperature` and more.

        Raises:
            OptionError: An argument has no meaning; `field` names it.
            QuestionError: The question cannot be answered: no documents, or a prompt longer than the context.

        >>> answer = engine.ask("When?", ["In 1968."], method="madam-rag", switches={"rounds": 1}, max_tokens=8)
        >>> answer.rounds, answer.method
        (1, 'madam-rag')
        >>> engine.ask("When?", ["In 1968."], max_tokens=0)
        Traceback (most recent call last):
        ...
        moot.errors.OptionError: method.max_tokens 0: a reply needs at least one token
        """
        own, with_ = self._with(documents, method, corpus, whole, output, options)
        request = {"question": question, "options": list(choices), "with": with_}
        ears = _Ears(on_event)
        answered = json.loads(self._engine.ask(json.dumps(request), own, ears))
        return read(Answer, {**answered, "notes": ears.notes})

    def conflict(
        self,
        text: str,
        documents: Documents = (),
        *,
        question: str = "",
        corpus: Mapping[str, Any] | None = None,
        whole: bool = False,
        output: Path | None = None,
        on_event: OnEvent | None = None,
        **options: Any,
    ) -> Assessment:
        """Labels each claim of `text`: which documents support it, which contradict it, with quotes (ConflictScore).

        `question` is what the text answers. Everything else is as for `ask`; `switches` are those of `conflict-score`.

        >>> engine.conflict("Mira Tolland was born in 1968.", ["She was born in 1931."], max_tokens=8).scores.claims
        1
        """
        _, with_ = self._with(documents, None, corpus, whole, output, options)
        request = {"text": text, "question": question, "with": with_}
        ears = _Ears(on_event)
        assessment = json.loads(self._engine.conflict(json.dumps(request), ears))
        return read(Assessment, {**assessment, "notes": [*assessment.get("notes", []), *ears.notes]})

    def contradictions(
        self, documents: Path | Documents, *, least: float = 0.5, on_event: OnEvent | None = None
    ) -> Contradictions:
        """Compares documents with each other, without a question: where they contradict each other, with quotes.

        Args:
            documents: A file or folder, or a list as for `ask`. Work on files and folders alone is kept in the cache: after
                an interruption the same call goes on.
            least: The least probability of what is reported, from 0 to 1.
            on_event: Receives each `Event`, in this thread.

        Raises:
            OptionError, InputError: Fewer than two documents, documents without sentences, or a `least` out of range.

        >>> found = engine.contradictions(["The ferry opened in 1968.", "The ferry opened in 1931."], least=0)
        >>> found.counts.documents
        2
        """
        if isinstance(documents, (str, os.PathLike)):
            documents = [pathlib.Path(documents)]
        request = {"documents": given(documents), "least": least}
        ears = _Ears(on_event)
        report = json.loads(self._engine.contradictions(json.dumps(request), ears))
        return read(Contradictions, {**report, "notes": [*report.get("notes", []), *ears.notes]})

    def run(
        self,
        dataset: Path,
        output: Path,
        *,
        method: str | Mapping[str, Any] | Method | Sequence[str | Method] | None = None,
        corpus: Mapping[str, Any] | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        **options: Any,
    ) -> list[RunReport]:
        """Answers the questions of a dataset and records every call; goes on where an earlier run of `output` ended.

        Args:
            dataset: A file that `moot run` reads.
            output: The record; with several methods a folder.
            method: As for `ask`; a list has names and objects, whose questions go side by side in one batch.
            corpus: Settings of the search, as for `ask`.
            on_progress: Receives counts a few times a second, in this thread. An exception ends the run and is raised.
            options: Fields of `RunOptions` (`limit`, `sample`, `in_flight`, `answers`, ...) and of `MethodOptions`.

        Returns:
            One report a method. A question that ended in an error is recorded with it; `RunReport.unanswered` says so.

        Raises:
            OptionError, InputError, FileError: An option, the dataset or the record is not what it should be.
            KeyboardInterrupt: Ctrl-C. What was answered is recorded, and the same call resumes.
        """
        groups = _sorted(["run", "method"], options)
        groups["run"] |= {"dataset": os.fspath(dataset), "output": os.fspath(output)}
        methods: list[object] = []
        if isinstance(method, (str, Mapping)):
            groups["method"] |= _named(method)
        elif method is not None:
            methods = [method] if isinstance(method, Method) else list(method)

        def heard(event: Event) -> None:
            if event.kind == "running" and on_progress is not None:
                on_progress(read(Progress, event.data))

        ears = _Ears(heard)
        request = {**groups, "corpus": plain(dict(corpus or {}))}
        reports = json.loads(self._engine.run(json.dumps(request), methods, ears))
        return [read(RunReport, {**report, "notes": ears.notes}) for report in reports]

    def embed(self, texts: Iterable[str], *, query: bool = False) -> list[list[float]]:
        """The vectors of texts: `[texts, dimensions]`, of length 1 where the embedder's model normalises.

        `query` embeds them as questions, for embedders that tell questions from passages.

        Raises:
            OptionError: The engine has no embedder, or a text is empty.
        """
        return self._engine.embed(list(texts), query, _Ears(None))

    def generate(
        self,
        messages: Messages,
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        stop: Sequence[str] = (),
        think: int = 0,
        role: str = "",
    ) -> Reply:
        """A model's reply to a chat.

        Args:
            messages: The user's message, or a list of messages with `role` and `content`; the last one is the user's.
            schema: A JSON schema that the reply keeps: `Reply.data` has its value.
            max_tokens: Tokens of the reply, at most.
            temperature: 0 takes the likeliest token. Otherwise `top_k` (0 keeps all), `top_p` and `seed` count.
            stop: The reply ends before the first of these texts.
            think: Tokens of thought before the reply, at most, for models that can think.
            role: Of an engine with a model a role, the role whose model replies.

        Raises:
            OptionError: An argument has no meaning.
            QuestionError: The chat is longer than the context.

        >>> reply = engine.generate("Where?", schema={"enum": ["here", "there"]}, max_tokens=8)
        >>> reply.data in ("here", "there")
        True
        """
        return self.generate_all(
            [messages], schema=schema, max_tokens=max_tokens, temperature=temperature, top_k=top_k, top_p=top_p,
            seed=seed, stop=stop, think=think, role=role,
        )[0]

    def generate_all(
        self,
        chats: Iterable[Messages],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 1024,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        stop: Sequence[str] = (),
        think: int = 0,
        role: str = "",
    ) -> list[Reply]:
        """The replies to several chats, decoded in one batch. Arguments are those of `generate`."""
        turns = [[{"role": "user", "content": chat}] if isinstance(chat, str) else list(map(dict, chat)) for chat in chats]
        request = {
            "chats": turns, "role": role, "schema": None if schema is None else dict(schema), "max_tokens": max_tokens,
            "think": think, "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "stop": list(stop),
        }
        replies = json.loads(self._engine.generate(json.dumps(request), _Ears(None)))
        return [read(Reply, {**reply, "data": _data(reply) if schema is not None else None}) for reply in replies]

    @property
    def model(self) -> dict[str, Any]:
        """The model that answers: `name`, `sha256` of its weights, `architecture`, `context` in tokens, `recipe`."""
        identity: dict[str, Any] = json.loads(self._engine.model())
        return identity

    def close(self) -> None:
        """Ends every call, and frees the models. `with moot.Engine(...) as engine:` closes it."""
        self._engine.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _with(
        self,
        documents: Documents,
        method: str | Mapping[str, Any] | Method | None,
        corpus: Mapping[str, Any] | None,
        whole: bool,
        output: Path | None,
        options: Mapping[str, Any],
    ) -> tuple[Method | None, dict[str, Any]]:
        """The method where it is the caller's own, and what `ask` and `conflict` have in common."""
        settings = _sorted(["method"], options)["method"]
        own = method if isinstance(method, Method) else None
        if method is not None and own is None:
            if not isinstance(method, (str, Mapping)):
                found = type(method).__name__
                raise of("option", f"method: expected a name, a dict or a moot.Method, found {found}", field="method")
            settings |= _named(method)
        return own, {
            "documents": plain(given(documents)), "whole": whole, "method": settings,
            "corpus": plain(dict(corpus or {})), "output": None if output is None else os.fspath(output),
        }


def _named(method: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"name": method} if isinstance(method, str) else dict(plain(method))


def _data(reply: Mapping[str, Any]) -> Any:
    """The value of a reply that keeps a schema; none where it was cut."""
    try:
        return json.loads(reply["text"])
    except ValueError:
        return None
