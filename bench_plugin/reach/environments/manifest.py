"""The manifest of a toolchain: a list of all its files, by which a later run sees that somebody changed it by hand.

A file below ``lib`` has its size and its time of change, any other one its hash, a symbolic link its target. What
Python compiles by itself does not count. A toolchain without a manifest (just made, or made by an earlier version) is
compared with the RECORD files of its distributions, and gets one if it agrees with them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.version import InvalidVersion, Version

from bench_plugin.reach.environments.record_files import Recorded, recorded_files, sha256_of
from bench_plugin.reach.environments.toolchain_file import normal

NAME = "bench-manifest.txt"
LIBRARIES = "lib"  # here are tens of thousands of files, so that only their sizes and times are compared
IGNORED = (NAME, ".lock")  # uv's own lock, which it touches
OF_ENVIRONMENTS = ("_virtualenv.py", "_virtualenv.pth")  # what uv writes into an empty environment
SHOWN = 3


def changes(folder: Path, locked: Mapping[str, str]) -> list[str]:
    """What differs from the toolchain as it was made, as ``<path> has changed`` and the like; empty if nothing does.

    A file with another time is compared with the hash in its RECORD: a copied toolchain is as good as the original.
    ``locked`` are the versions of the lock by distribution, for a toolchain without a manifest.
    """
    listing = _listing(folder)
    try:
        known = folder.joinpath(NAME).read_text("utf-8", "surrogateescape")
    except OSError:
        known = ""
    if known == listing:
        return []
    now, recorded = _by_path(listing), _recorded(folder)
    found = list(_since(_by_path(known), now, recorded) if known else _unlike_records(now, recorded, locked))
    if not found:
        _save(folder, listing)
    return sorted(found)


def described(found: Iterable[str]) -> str:
    """The first of the changes in a line of text, and how many others there are."""
    found = list(found)
    more = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


def _since(before: dict[str, str], now: dict[str, str], recorded: dict[str, Recorded]) -> Iterator[str]:
    """The changes since the manifest was written."""
    for path, identity in before.items():
        if path not in now:
            yield f"{path} is missing"
        elif identity != now[path] and not _same_content(path, identity, now[path], recorded):
            yield f"{path} has changed"
    yield from (f"{path} was added" for path in now if path not in before)


def _same_content(path: str, before: str, now: str, recorded: Mapping[str, Recorded]) -> bool:
    """Whether a file with another identity has the content that its RECORD says. Of RECORD itself the size counts."""
    if os.path.basename(path) == "RECORD":
        return before.split()[0] == now.split()[0]
    row = recorded.get(path)
    return row is not None and bool(row.digest) and not row.problem(contents=True)


def _unlike_records(now: dict[str, str], recorded: dict[str, Recorded], locked: Mapping[str, str]) -> Iterator[str]:
    """What does not agree with the RECORD files and the lock."""
    for path, row in recorded.items():
        problem = row.problem(contents=False)
        if problem:
            yield f"{path} {problem}"
    for path in now:
        inside = path.startswith(LIBRARIES + os.sep)
        if inside and path not in recorded and os.path.basename(path) not in OF_ENVIRONMENTS:
            yield f"{path} was added"
    for path in recorded:
        folder, name = os.path.split(path)
        if name == "RECORD" and os.path.basename(os.path.dirname(folder)) == "site-packages":
            distribution, _, version = os.path.basename(folder).removesuffix(".dist-info").partition("-")
            if not _same_version(locked.get(normal(distribution), ""), version):
                yield f"{folder} is not in the lock"


def _same_version(locked: str, installed: str) -> bool:
    try:
        return Version(locked) == Version(installed)
    except InvalidVersion:
        return locked == installed


def _recorded(folder: Path) -> dict[str, Recorded]:
    """The files that RECORD files list, by their path below the folder."""
    found = {}
    for site in folder.glob(f"{LIBRARIES}/python*/site-packages"):
        for _, rows in recorded_files(site):
            found.update({os.path.relpath(row.path, folder): row for row in rows})
        for record in site.glob("*.dist-info/RECORD"):  # few installers list it
            found.setdefault(os.path.relpath(record, folder), Recorded(str(record), "", -1, 0))
    return found


def _listing(folder: Path) -> str:
    """One line per file: its path below the folder, a tab, and what identifies it."""
    lines: list[str] = []
    top = str(folder)
    waiting = [(top, "")]
    while waiting:
        place, prefix = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_symlink():
                    lines.append(f"{name}\t-> {os.readlink(entry.path)}")
                elif entry.is_dir():
                    if entry.name != "__pycache__":
                        waiting.append((entry.path, name + os.sep))
                elif not entry.name.endswith(".pyc") and name not in IGNORED:
                    lines.append(f"{name}\t{_identity(entry, name)}")
    lines.sort()
    return "\n".join(lines) + "\n"


def _identity(entry: os.DirEntry[str], name: str) -> str:
    if name.startswith(LIBRARIES + os.sep):
        found = entry.stat(follow_symlinks=False)
        return f"{found.st_size} {found.st_mtime_ns}"
    return sha256_of(entry.path)


def _by_path(listing: str) -> dict[str, str]:
    return {path: identity for path, _, identity in (line.partition("\t") for line in listing.splitlines())}


def _save(folder: Path, listing: str) -> None:
    try:
        # Not in the folder itself: the walk of a run beside this one would meet the half-written file.
        handle, fresh = tempfile.mkstemp(prefix=".manifest-", dir=folder.parent)
    except OSError:  # a cache that cannot be written is used as it is
        return
    try:
        with open(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(listing)
        os.replace(fresh, folder / NAME)
    except OSError:
        Path(fresh).unlink(missing_ok=True)
