"""The artefact of a row as a whole: one hash and one size over all of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any


def digest_of(files: Mapping[str, str]) -> str:
    """One SHA-256 over the names and the SHA-256 of all files of an artefact; empty for an artefact without files.

    >>> digest_of({"a": "1", "b": "2"}) == digest_of({"b": "2", "a": "1"}) != digest_of({"a": "2", "b": "1"})
    True
    """
    lines = [f"{name} {files[name]}\n" for name in sorted(files)]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


def digest_in(artefacts: Mapping[str, Any]) -> str:
    """The same of a row's ``artefacts``; empty where its compiler leaves no file."""
    return digest_of({name: str(one["sha256"]) for name, one in files_in(artefacts).items()})


def bytes_in(artefacts: Mapping[str, Any]) -> int:
    """The bytes of all files of a row's artefact; 0 where its compiler leaves none."""
    return sum(int(one["bytes"]) for one in files_in(artefacts).values())


def files_in(artefacts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The files of the artefact among all that a row says of artefacts: those with a hash."""
    return {name: one for name, one in artefacts.items() if isinstance(one, Mapping) and "sha256" in one}
