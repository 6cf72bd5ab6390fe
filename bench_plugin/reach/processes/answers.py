"""The metadata of an agent's frames, checked where they enter: an agent may send anything."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from bench_plugin.agent.contract.records import KEY, Malformed, Record
from bench_plugin.domain.outcome import Cause, Symptom

NAME_CHARACTERS = 200
KEY_CHARACTERS = 4096  # tensors of a graph may have long names, and these are names of arrays and keys of tables
PATH_CHARACTERS = 4096
TEXT_CHARACTERS = 64 * 1024
MESSAGE_CHARACTERS = 4096
DEPTH = 32
ENTRIES = 64  # stages with a duration, and classes of an exception
INTEGER_BITS = 63
REMARKS = "remarks"  # the key in an answer's metadata for what was changed on its way in; the row shows it
MOST_REMARKS = 8
# What an agent may report; all others are for the host to say.
CAUSES = frozenset(str(one) for one in Cause)
REPORTED = frozenset(
    {
        Symptom.EXCEPTION, Symptom.UNSUPPORTED, Symptom.INVALID_MODEL, Symptom.VERSION_SKEW, Symptom.OUT_OF_MEMORY,
        Symptom.HARNESS, Symptom.TIMEOUT, Symptom.CRASH,
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class CallResult(Record):
    """The metadata of the result of a call.

    said: what the adapter says, plain data; its key is ``meta``.
    arrays: the names of the blobs, in their order.
    files: paths by name.
    seconds: durations by stage.
    peak: resident memory in bytes.
    """

    said: Mapping[str, Any] = field(metadata={KEY: "meta"})
    arrays: tuple[str, ...]
    files: Mapping[str, str]
    seconds: Mapping[str, float]
    peak: int


@dataclass(frozen=True, eq=False, repr=False)
class Versions(Record):
    """The metadata of the answer to ``versions``.

    versions: the installed version by distribution.
    """

    versions: Mapping[str, str]


@dataclass(frozen=True)
class Reported:
    """An error that an agent reports, with texts of bounded length; ``stage`` is empty where the agent names none."""

    symptom: str
    message: str
    detail: str
    types: tuple[str, ...]
    stage: str
    cause: str = ""


def call_result(meta: Mapping[str, Any], blobs: int, where: str) -> CallResult:
    """The result of a call with ``blobs`` blobs.

    In ``meta``, numbers that JSON does not have become None and long texts are cut, with a remark under ``remarks``.
    Raises Malformed for anything else that is not as docs/protocol.md says; the message begins with ``where``.
    """
    given = CallResult.read(meta, where)
    for number, name in enumerate(given.arrays):
        _check_name(name, f"{where}: field 'arrays'[{number}]", KEY_CHARACTERS)
    _check_doubles(given.arrays, f"{where}: field 'arrays'")
    if len(given.arrays) != blobs:
        raise Malformed(f"{where}: field 'arrays' names {len(given.arrays)} arrays; the frame has {blobs}")
    for name, path in given.files.items():
        _check_file_name(name, f"{where}: field 'files'")
        if not path or len(path) > PATH_CHARACTERS or "\0" in path:
            raise Malformed(f"{where}: field 'files'[{name!r}] is {_short(path)}; expected the path of a file")
    paths = [str(PurePosixPath(path)) for path in given.files.values()]
    _check_doubles(paths, f"{where}: field 'files'")
    _check_seconds(given.seconds, f"{where}: field 'seconds'")
    if not 0 <= given.peak < 1 << INTEGER_BITS:
        raise Malformed(f"{where}: field 'peak' is {_short(given.peak)}; expected a number of bytes")
    return CallResult(_Plain(where).table(given.said), given.arrays, given.files, given.seconds, given.peak)


def versions(meta: Mapping[str, Any], where: str) -> dict[str, str]:
    """The installed versions by distribution. Raises Malformed."""
    found = Versions.read(meta, where).versions
    for name, version in found.items():
        _check_name(name, f"{where}: field 'versions'")
        _check_name(version, f"{where}: field 'versions'[{name!r}]")
    return dict(found)


def reported(meta: Mapping[str, Any]) -> Reported:
    """The error that an agent reports. One that is not as it should be is a fault of the harness, and says so."""
    try:
        return _reported(meta)
    except Malformed as error:
        text = f"{error}; it said: {_short(meta.get('message'), MESSAGE_CHARACTERS)}"
        return Reported(str(Symptom.HARNESS), clean(text, MESSAGE_CHARACTERS), "", (), "")


def clean(text: str, most: int) -> str:
    """A text that can be written as UTF-8, cut to ``most`` characters."""
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.encode("utf-8", "replace").decode("utf-8")


def _reported(meta: Mapping[str, Any]) -> Reported:
    where = "the agent's error"
    said = _Error.read(meta, where)
    if said.symptom not in REPORTED:
        raise Malformed(
            f"{where}: field 'symptom' is {_short(said.symptom)}; expected one of {', '.join(sorted(REPORTED))}"
        )
    types = tuple(clean(name, NAME_CHARACTERS) for name in said.types[:ENTRIES])
    message, detail = clean(said.message, MESSAGE_CHARACTERS), clean(said.detail, 2 * TEXT_CHARACTERS)
    return Reported(
        said.symptom,
        message,
        detail,
        types,
        clean(said.stage, NAME_CHARACTERS),
        said.cause if said.cause in CAUSES else "",
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Error(Record):
    """The metadata of an error frame."""

    symptom: str = str(Symptom.HARNESS)
    message: str = ""
    detail: str = ""
    types: tuple[str, ...] = ()
    stage: str = ""
    cause: str = ""


class _Plain:
    """Makes the metadata of one answer plain data, and notes what it changed."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._changes: list[str] = []

    def table(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata as plain data, with the changes under ``remarks``. Raises Malformed where it is too deep."""
        found = {clean(key, KEY_CHARACTERS): self._value(value, key, 1) for key, value in meta.items()}
        if self._changes:
            more = len(self._changes) - MOST_REMARKS
            shown = self._changes[:MOST_REMARKS] + ([f"{more} more values were replaced"] if more > 0 else [])
            found[REMARKS] = shown
        else:
            found.pop(REMARKS, None)  # the host's own key
        return found

    def _value(self, value: Any, place: str, depth: int) -> Any:
        if depth > DEPTH:
            raise Malformed(f"{self._where}: field {_short(place)} is nested more than {DEPTH} levels deep")
        if isinstance(value, Mapping):
            return {
                clean(key, KEY_CHARACTERS): self._value(one, f"{place}.{key}"[:NAME_CHARACTERS], depth + 1)
                for key, one in value.items()
            }
        if isinstance(value, list):
            return [self._value(one, f"{place}[{at}]", depth + 1) for at, one in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            return self._changed(place, f"{value} was replaced by nothing")
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > INTEGER_BITS:
            return self._changed(place, "an integer of more than 64 bits was replaced by nothing")
        if isinstance(value, str):
            if len(value) > TEXT_CHARACTERS:
                self._changed(place, f"a text of {len(value)} characters was cut")
            return clean(value, TEXT_CHARACTERS)
        return value

    def _changed(self, place: str, what: str) -> None:
        self._changes.append(clean(f"{place}: {what}", NAME_CHARACTERS))


def _check_name(name: str, where: str, most: int = NAME_CHARACTERS) -> None:
    if not name or "\0" in name or clean(name, most) != name:
        raise Malformed(
            f"{where} has the name {_short(name)} of {len(name)} characters; expected 1 to {most} in valid Unicode"
        )


def _check_file_name(name: str, where: str) -> None:
    """Check the name of a file. A slash leads to a file beside the others, such as external weights of a model."""
    _check_name(name, where)
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in name or len(name.encode()) > NAME_CHARACTERS:
        raise Malformed(
            f"{where} has the name {_short(name)}; expected a relative path without '..', of at most "
            f"{NAME_CHARACTERS} bytes"
        )


def _check_doubles(values: Sequence[str], where: str) -> None:
    twice = next((value for value, count in Counter(values).items() if count > 1), None)
    if twice is not None:
        raise Malformed(f"{where} has {_short(twice)} twice; expected each once")


def _check_seconds(seconds: Mapping[str, float], where: str) -> None:
    if len(seconds) > ENTRIES:
        raise Malformed(f"{where} has {len(seconds)} stages; expected at most {ENTRIES}")
    for name, value in seconds.items():
        _check_name(name, where)
        if not (math.isfinite(value) and value >= 0):
            raise Malformed(f"{where}[{name!r}] is {value}; expected a duration in seconds")


def _short(value: object, most: int = 60) -> str:
    return clean(repr(value), most)
