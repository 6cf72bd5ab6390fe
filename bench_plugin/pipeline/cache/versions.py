"""The folders of entries: ``entries/ab/<recipe>/<version>``, of which the newest version that is not retired counts."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bench_plugin.pipeline.cache.entry import RECORD, RETIRED

NAME = re.compile(r"[0-9]{6,}-[0-9a-f]{8}")


def place(folder: Path, key: str) -> Path:
    """The folder of a recipe's versions."""
    return folder / f"entries/{key[:2]}/{key}"


def name(version: Path) -> str:
    """The name of a version in leases: recipe/version."""
    return f"{version.parent.name}/{version.name}"


def below(place: Path) -> list[Path]:
    """Every version of a recipe, the newest first."""
    return [place / one for one in sorted(_names(place), reverse=True)]


def current(place: Path) -> Path | None:
    """The version of a recipe that counts, or None."""
    newest = max(_names(place), default="")
    return None if not newest or os.path.exists(f"{place}/{newest}/{RETIRED}") else place / newest


def following(place: Path) -> Path:
    """The next version of a recipe. Two runs that store at once get different ones."""
    newest = max(_names(place), default="0")
    number = int(newest.partition("-")[0]) + 1
    return place / f"{number:06d}-{secrets.token_hex(4)}"


def retire(version: Path) -> None:
    """Let a version not count any more, although a run still reads it. Raises OSError."""
    (version / RETIRED).touch()


def all_current(folder: Path) -> Iterator[Path]:
    """The version that counts, of every recipe in a cache."""
    for one in _places(folder):
        version = current(one)
        if version is not None:
            yield version


def all_replaced(folder: Path) -> Iterator[Path]:
    """All other versions."""
    for one in _places(folder):
        counts = current(one)
        yield from (version for version in below(one) if version != counts)


def size(version: Path) -> int:
    """Bytes of a version's files."""
    total = 0
    with suppress(FileNotFoundError):  # another run has removed it in this moment
        for file in os.scandir(version):
            total += file.stat().st_size
    return total


def used_at(version: Path) -> float:
    """When a version was used last, in seconds since the epoch."""
    with suppress(FileNotFoundError):
        return version.stat().st_mtime
    return 0.0


def remove_older_form(folder: Path, *, before: float) -> tuple[int, int]:
    """Remove the entries of releases that had no versions, if not used since ``before``; returns (entries, bytes)."""
    entries = freed = 0
    for one in _places(folder):
        if (one / RECORD).is_file() and used_at(one) <= before:
            files = [path for path in one.iterdir() if path.is_file()]
            entries, freed = entries + 1, freed + sum(path.stat().st_size for path in files)
            for path in files:
                path.unlink(missing_ok=True)
            with suppress(OSError):  # it has versions as well
                one.rmdir()
    return entries, freed


def _names(place: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(place) if NAME.fullmatch(entry.name) and entry.is_dir()]
    except OSError:
        return []


def _places(folder: Path) -> Iterator[Path]:
    return (folder / "entries").glob("*/*")
