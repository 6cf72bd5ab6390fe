"""Typed records of the files that users write, checked by msgspec: the one description of their keys and values.

A file's type is a :class:`Record`. The code uses it, :func:`read` fills it or reports the error and its place,
``bench schema`` makes a JSON Schema from it, and docs/configuration.md lists its keys.
"""

from __future__ import annotations

import re
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench_plugin.domain.choices import hint, nearest
from bench_plugin.domain.errors import UsageError

Place = tuple[str | int, ...]  # keys and indices that lead to a value, such as ("inputs", 0, "dtype")
HEADER = re.compile(r"^\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?$")
KEY = re.compile(r"""^\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=""")
FIELD = re.compile(r"(?:required|unknown) field `([^`]+)`")
NOT_BLANK = r"\S"  # a pattern for texts that must not be blank
QUOTED = re.compile(r"`([a-z |]+)`")
OF_KEY = "`key` in "  # how msgspec begins the place of a key that is wrong
LISTED = re.compile(r"Expected `(?:object \| )?array(?: \| null)?`")  # a list of names is wanted, not a name
STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.([^.\[\]]+)")
TYPES = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list",
    "object": "a table", "null": "nothing",
}  # fmt: skip


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the types of files. ``__post_init__`` raises ValueError for rules that types cannot express."""


R = TypeVar("R", bound=Record)


def about(description: str, **limits: Any) -> msgspec.Meta:
    """The meaning of a key, with its unit if it has one, and the limits of its values (``ge``, ``pattern`` ...)."""
    return msgspec.Meta(description=description, **limits)


def load(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and its data. Raises UsageError for a file that cannot be read or is not TOML."""
    try:
        text = path.read_bytes().decode("utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from error


def read(path: Path, kind: type[R]) -> R:
    """The record in a TOML file. Raises UsageError with the file, the line, the key and what would be right."""
    text, data = load(path)
    return convert(data, kind, path=path, text=text)


def convert(data: Any, kind: type[R], *, path: Path, text: str = "", below: Place = ()) -> R:
    """Data of a file as a record; ``below`` is its place in the file. Raises UsageError as :func:`read` does."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        place, message = explained(data, kind, str(error))
        raise wrong(path, text, (*below, *place), message) from error


def wrong(path: Path, text: str, place: Place, message: str) -> UsageError:
    """The error of a file at a place: ``file:line: key: what is wrong``."""
    line = line_of(text, place)
    where = f"{path}:{line}" if line else str(path)
    return UsageError(f"{where}: {key_text(place)}: {message}" if place else f"{where}: {message}")


def key_text(place: Place) -> str:
    """A place as messages show it: ``inputs[1].dtype``, with indices from 1."""
    text = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".")


def line_of(text: str, place: Place) -> int:
    """The line of a key in a TOML text, from 1: its own, or that of the nearest table above it; 0
    where there is none.
    """
    best, found = 0, 0
    table: Place = ()
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            names = tuple(_names(header[2]))
            if header[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
            table = here = _indexed(names, counts)
        elif key := KEY.match(line):
            here = (*table, *_names(key[1]))
        else:
            continue
        common = min(len(here), len(place))
        if common > best and place[:common] == here[:common]:
            best, found = common, number
    return found


def values_of(kind: Any) -> tuple[str, ...]:
    """The valid values of a type with a fixed set of them; empty for any other type."""
    kind = _plain(kind)
    if typing.get_origin(kind) is typing.Literal:
        return tuple(str(one) for one in typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return tuple(str(one) for one in kind)
    parts = typing.get_args(kind) if _is_union(kind) or _item(kind) is not None else ()
    return next((found for part in parts if part is not Ellipsis and (found := values_of(part))), ())


def _names(text: str) -> Sequence[str]:
    return [part.strip().strip("\"'") for part in (re.findall(r'"[^"]*"|\'[^\']*\'|[^.\s]+', text))]


def _indexed(names: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> Place:
    """The names of a table, with the index in every array of tables on the way."""
    place: list[str | int] = []
    for length, name in enumerate(names, 1):
        place.append(name)
        if names[:length] in counts:
            place.append(counts[names[:length]])
    return tuple(place)


def explained(data: Any, kind: Any, error: str) -> tuple[Place, str]:
    """The place of an error in the data and its reason, from msgspec's message."""
    message, _, path = error.partition(" - at ")
    of_key = path.startswith(OF_KEY)
    place, value, found = _followed(data, kind, path.removeprefix(OF_KEY).strip("`").lstrip("$"))
    if of_key:
        place, value, found = _wrong_key(place, value, found)
    if field := FIELD.search(message):
        if "required" in message:
            return (*place, field[1]), "missing"
        valid = [one.encode_name for one in msgspec.structs.fields(_record(found))]
        near = nearest(field[1], valid)
        meant = f"did you mean {near[0]}? " if near else ""
        return (*place, field[1]), f"unknown key; {meant}valid keys are {', '.join(sorted(valid))}"
    valid = [] if LISTED.match(message) else list(values_of(found))
    if valid and not isinstance(value, Mapping):
        return place, f"{value!r} is not valid; {hint(value, valid)}"
    message = QUOTED.sub(_in_words, message).replace(f"matching regex {NOT_BLANK!r}", "that is not blank")
    if message.startswith("Expected ") and value is not data:
        message = f"{message[0].lower()}{message[1:].split(', got')[0]}, found {_shown(value)}"
    return place, message


def _followed(data: Any, kind: Any, path: str) -> tuple[Place, Any, Any]:
    """The place that msgspec names, the value there and its type; msgspec writes ``[...]`` for any key."""
    place: list[str | int] = []
    for index, name in STEP.findall(path):
        kind = _plain(kind)
        if name:
            step: Any = name
            record = _record(kind)
            kind = _hints(record).get(name, Any) if record else Any
        elif index == "...":
            kind = (typing.get_args(kind) or (str, Any))[-1]
            step = next((key for key, value in data.items() if not _fits(value, kind)), None)
            if step is None:  # the key itself is wrong
                break
        else:
            step, kind = int(index), _item(kind) or Any
        if isinstance(data, Mapping) and step not in data:
            break
        place.append(step)
        data = data[step]
    return tuple(place), data, kind


def _wrong_key(place: Place, table: Any, kind: Any) -> tuple[Place, Any, Any]:
    """The key of a table that is not of the type of its keys."""
    keys = next(typing.get_args(part)[0] for part in _alternatives(kind) if typing.get_origin(part) is dict)
    key = next(key for key in table if not _fits(key, keys))
    return (*place, key), key, keys


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The parts of a union, or the type alone."""
    kind = _plain(kind)
    return typing.get_args(kind) if _is_union(kind) else (kind,)


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _hints(record: Any) -> dict[str, Any]:
    return typing.get_type_hints(record, include_extras=True)


def _plain(kind: Any) -> Any:
    """A type without its description."""
    return _plain(typing.get_args(kind)[0]) if typing.get_origin(kind) is typing.Annotated else kind


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _item(kind: Any) -> Any:
    """The type of the items of a list, or of the list in a union."""
    kind = _plain(kind)
    if _is_union(kind):
        return next((found for part in typing.get_args(kind) if (found := _item(part)) is not None), None)
    return typing.get_args(kind)[0] if typing.get_origin(kind) in (tuple, list, Sequence) else None


def _record(kind: Any) -> Any:
    """The record in a type: the type itself, or one part of a union."""
    kind = _plain(kind)
    if _is_union(kind):
        return next((found for part in typing.get_args(kind) if (found := _record(part)) is not None), None)
    return kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None


def _in_words(types_found: re.Match[str]) -> str:
    """``str | array`` as ``a text or a list``."""
    return " or ".join(TYPES.get(name, name) for name in types_found[1].split(" | "))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
