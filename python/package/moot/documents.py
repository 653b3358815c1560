"""Documents that a call brings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from moot.errors import of


@dataclass(frozen=True)
class Document:
    """A text, with what is known of it.

    >>> moot.Document("Mira Tolland was born in 1968.", source="Cape Orrin Bird Observatory", date="2019-03").source
    'Cape Orrin Bird Observatory'
    """

    text: str
    """All of it."""
    name: str | None = None
    """As displayed; without one its title, or `document 3`."""
    title: str | None = None
    """Its own title."""
    source: str | None = None
    """Its publisher or author."""
    date: str | None = None
    """As 2018 or 2018-05-31, where dates are to be compared."""
    url: str | None = None
    """Its address."""
    number: int | None = None
    """Its number from 1, where it is a document of a question."""


Documents = Iterable[Union[str, "os.PathLike[str]", Mapping[str, Any], Document]]
"""Texts (`str`), files and folders (`pathlib.Path`), dicts with the fields of `Document`, and `Document`s."""


def given(documents: Documents) -> list[dict[str, Any]]:
    """Documents as requests have them."""
    if isinstance(documents, (str, os.PathLike, Mapping, Document)):
        found = type(documents).__name__
        raise of("option", f"documents: expected a list of documents, found {found}", field="documents")
    return [_one(index, document) for index, document in enumerate(documents)]


def _one(index: int, document: object) -> dict[str, Any]:
    if isinstance(document, str):
        return {"text": document}
    if isinstance(document, os.PathLike):
        return {"path": os.fspath(document)}
    if isinstance(document, Mapping):
        return dict(document)
    if isinstance(document, Document):
        known = vars(document).items()
        return {name: value for name, value in known if value is not None and name != "number"}
    field, found = f"documents[{index}]", type(document).__name__
    raise of("option", f"{field}: expected a str, a path, a dict or a moot.Document, found {found}", field=field)
