"""The folders of entries: ``entries/ab/<recipe>/<version>``, of which the newest version that is not retired counts."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.pipeline.cache.entry import RECORD, RETIRED

NAME = re.compile(r"[0-9]{6,}-[0-9a-f]{8}")


@dataclass(frozen=True)
class Version:
    """A version on disk: its folder, whether it counts, when it was used last (seconds since the epoch), its bytes."""

    path: Path
    counts: bool
    used_at: float
    size: int


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


def scan(folder: Path) -> tuple[list[Version], list[Path]]:
    """Every version in a cache, and the folders of entries from releases that had no versions."""
    found: list[Version] = []
    older: list[Path] = []
    for group in _folders(f"{folder}/entries"):
        for key in _folders(group):
            inside = _listed(key)
            if RECORD in inside:
                older.append(Path(key))
            newest = max(filter(NAME.fullmatch, inside), default="")
            for one in filter(NAME.fullmatch, inside):
                with suppress(OSError):  # another run has removed it in this moment
                    files = {file.name: file.stat().st_size for file in os.scandir(f"{key}/{one}")}
                    counts = one == newest and RETIRED not in files
                    used_at = os.stat(f"{key}/{one}").st_mtime
                    found.append(Version(Path(key, one), counts, used_at, sum(files.values())))
    return found, older


def remove_older_form(places: Iterable[Path], *, before: float) -> tuple[int, int]:
    """Remove entries of releases that had no versions, if not used since ``before``; returns (entries, bytes)."""
    entries = freed = 0
    for one in places:
        with suppress(OSError):  # another run has removed it in this moment, or it has versions as well
            if one.stat().st_mtime <= before:
                files = {path: path.stat().st_size for path in one.iterdir() if path.is_file()}
                for path in files:
                    path.unlink()
                entries, freed = entries + 1, freed + sum(files.values())
                one.rmdir()
    return entries, freed


def _names(place: Path) -> list[str]:
    return [name for name in _listed(place) if NAME.fullmatch(name)]


def _folders(place: str) -> list[str]:
    return [f"{place}/{name}" for name in _listed(place)]


def _listed(place: str | Path) -> list[str]:
    """The names in a folder; none where it is no folder, cannot be read, or was removed in this moment."""
    try:
        return os.listdir(place)
    except OSError:
        return []
