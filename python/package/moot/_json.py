"""Dataclasses from JSON values, by their annotations."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def renamed(name: str) -> Any:
    """A field of another name in JSON: `for` cannot be one in Python."""
    return dataclasses.field(default_factory=list, metadata={"json": name})


@cache
def fields(kind: Any) -> dict[str, tuple[str, Any]]:
    """The fields of a dataclass by their names in JSON, with their types."""
    hints = typing.get_type_hints(kind)
    return {field.metadata.get("json", field.name): (field.name, hints[field.name]) for field in dataclasses.fields(kind)}


def read(kind: Callable[..., T], value: Any) -> T:
    """The dataclass `kind` of a JSON object. Names that it does not have are left out: a later version may send more."""
    known = fields(kind)
    return kind(**{known[name][0]: _value(known[name][1], item) for name, item in value.items() if name in known})


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _value(next(one for one in arguments if one is not type(None)), value)
    if origin is list:
        return [_value(arguments[0], item) for item in value]
    if origin is tuple:
        return tuple(_value(one, item) for one, item in zip(arguments, value))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return read(hint, value)
    return value


def plain(value: Any) -> Any:
    """`value` as JSON takes it: paths as texts."""
    import os

    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, typing.Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value
