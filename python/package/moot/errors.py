"""Errors: each says what was expected, what was found, and where."""

from __future__ import annotations

import os


class MootError(Exception):
    """Anything that moot refuses or that fails.

    Attributes:
        field: The option or argument that is meant, as `method.max_tokens` or `documents[2]`; `None` where none is.
        hint: What to do about it; `None` where nothing is known.
        path: The file that is meant.
        line: Its line, from 1.
    """

    field: str | None = None
    hint: str | None = None
    path: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


class OptionError(MootError, ValueError):
    """An option or an argument has no meaning here; `field` names it."""


class InputError(MootError, ValueError):
    """A file of the user's is not what it should be; `path` and `line` say where."""


class FileError(MootError, OSError):
    """The operating system refused to open, read or write `path`."""


class ModelError(MootError):
    """A model that cannot be found, fetched or loaded, or for which the memory is too small."""


class QuestionError(MootError):
    """One question cannot be answered; others may be.

    A method in Python raises it for a question that it cannot answer: a run records it and goes on.
    """


class RemoteError(MootError):
    """A model or an index on a server did not answer, or not as its protocol says."""


class Interrupted(MootError):
    """The work was ended, as by `Engine.close`."""


KINDS: dict[str, type[MootError]] = {
    "option": OptionError,
    "input": InputError,
    "file": FileError,
    "model": ModelError,
    "question": QuestionError,
    "remote": RemoteError,
    "interrupted": Interrupted,
    "moot": MootError,
}


def of(
    kind: str,
    message: str,
    hint: str | None = None,
    field: str | None = None,
    path: str | os.PathLike[str] | None = None,
    line: int | None = None,
) -> MootError:
    """The error of a kind."""
    error = KINDS[kind](message)
    error.field, error.hint, error.line = field, hint, line
    error.path = None if path is None else os.fspath(path)
    return error
