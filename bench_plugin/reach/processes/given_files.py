"""The files that an agent is given: copies in its own folder, hashed while they are made and again after every call.

An adapter that writes into its input would otherwise change the cache or the user's file, and with it the results of
every other adapter.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench_plugin.agent import external
from bench_plugin.agent.adapter import InvalidModel
from bench_plugin.domain.errors import BenchError

KEPT_BYTES = 512 << 20  # copies of earlier calls that are kept, because the next call often has the same files
KEPT_SETS = 64
CHUNK = 1 << 20
FICLONE = 0x40049409  # ioctl_ficlonerange(2): a copy that shares its blocks until one of the two is written
MODEL = ".onnx"
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # no link, and no FIFO that waits for a writer


class NotAsStated(BenchError):
    """A file that is not the one that was hashed earlier, or that cannot be read; the message is for the cell's row."""


@dataclass(frozen=True)
class GivenFile:
    """A file for a call.

    ``sha256`` is what its content must be, empty where it is not known yet. ``beside`` gives the same for files with
    external weights, by their paths relative to the folder of ``path``. ``data`` is the content of a file that exists
    only in memory, such as a small generated model, with its ``sha256`` stated; nothing is read from ``path`` then.
    """

    path: Path
    sha256: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    data: bytes | None = None

    @property
    def content(self) -> str:
        """SHA-256 of the file together with those beside it, in hexadecimal; they are read if it is not stated.

        Raises OSError for a file that cannot be read.
        """
        stated = self if self.sha256 else with_digests(self.path)
        return combined([stated.sha256, *(stated.beside[name] for name in sorted(stated.beside))])


def with_digests(path: Path) -> GivenFile:
    """The file with its digest and those of its external weights that exist. Raises OSError for an unreadable file."""
    beside = {name: digest(path.parent / name) for name in _locations(path) if (path.parent / name).is_file()}
    return GivenFile(path, digest(path), beside)


def digest(path: Path) -> str:
    """SHA-256 of a file's content in hexadecimal, read in blocks. Raises OSError for an unreadable file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def combined(digests: list[str]) -> str:
    """One digest of several: that of their concatenation, or the only one itself."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


class Copy(NamedTuple):
    """A copy that was made, relative to the folder of its call, with its SHA-256 and its size in bytes."""

    path: Path
    sha256: str
    size: int


class Copies:
    """The copies of the files of one call: ``paths`` by the names that the call uses."""

    def __init__(self, folder: Path, names: list[str], copies: list[Copy]) -> None:
        self._copies = copies
        self._folder = folder
        self.paths = {name: folder / name for name in names}
        self.size = sum(copy.size for copy in copies)

    def changed(self) -> str:
        """The name of the first copy whose content is not what it was, read again; empty where all are unchanged."""
        return next((str(one.path) for one in self._copies if _read_again(self._folder / one.path) != one.sha256), "")

    def remove(self) -> None:
        """Remove the copies with their folder. Most sets are one file, which takes two calls of the system."""
        try:
            for copy in self._copies:
                os.unlink(self._folder / copy.path)
            os.rmdir(self._folder)
        except OSError:  # there are more folders, or an adapter has put something there
            shutil.rmtree(self._folder, ignore_errors=True)


class GivenFiles:
    """The copies in one agent's folder. Files with the same names and content are copied once.

    Only ``kept_bytes`` and 64 sets of earlier calls are kept, so that a long run does not fill the disk.
    """

    def __init__(self, folder: Path, *, kept_bytes: int = KEPT_BYTES) -> None:
        self._folder = folder
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[str, Copies] = OrderedDict()
        self._count = 0

    def place(self, files: Mapping[str, Path | GivenFile]) -> Copies:
        """Copy the files of a call, unless the same ones are there.

        Raises NotAsStated for a file that cannot be read or does not have the content that is stated.
        """
        given = {name: GivenFile(one) if isinstance(one, Path) else one for name, one in files.items()}
        if all(one.sha256 for one in given.values()):
            key = _key(given)
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        self._count += 1
        making = self._folder / f"making-{self._count}"
        try:
            found, copies = _copied(given, making)
            key = _key(found)
            if key in self._kept:
                shutil.rmtree(making)
            else:
                os.rename(making, self._folder / key)
                self._kept[key] = Copies(self._folder / key, list(given), copies)
        except OSError as error:
            shutil.rmtree(making, ignore_errors=True)
            raise NotAsStated(f"an input file cannot be copied for the agent: {error}") from error
        except NotAsStated:
            shutil.rmtree(making, ignore_errors=True)
            raise
        self._kept.move_to_end(key)
        self._drop()
        return self._kept[key]

    def holds(self, path: str) -> bool:
        """Whether ``path`` leads into these copies."""
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._folder))

    def _drop(self) -> None:
        """Remove the copies that were used longest ago, but never those of the call that begins."""
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT_SETS or sum(copies.size for copies in self._kept.values()) > self._kept_bytes
        ):
            self._kept.popitem(last=False)[1].remove()


def _copied(given: Mapping[str, GivenFile], folder: Path) -> tuple[dict[str, GivenFile], list[Copy]]:
    """Copy the files into a new folder; returns them with their digests, and the copies relative to the folder."""
    found: dict[str, GivenFile] = {}
    copies: list[Copy] = []
    folder.mkdir(parents=True)
    for name, one in given.items():
        place = _inside(name)
        copies.append(_copy(one.path, folder, place, one.sha256, one.data))
        own, stated = copies[-1].sha256, one.beside
        if not one.sha256 and one.path.suffix == MODEL:
            there = [where for where in _locations(folder / place) if (one.path.parent / where).is_file()]
            stated = dict.fromkeys(there, "")
        beside = {}
        for where in sorted(stated):
            copies.append(_copy(one.path.parent / where, folder, place.parent / _inside(where), stated[where]))
            beside[where] = copies[-1].sha256
        found[name] = GivenFile(one.path, own, beside, one.data)
    return found, copies


def _copy(source: Path, folder: Path, place: Path, stated: str, data: bytes | None = None) -> Copy:
    """Copy a file, or write its ``data``, to ``place`` below a folder that exists. Raises OSError, NotAsStated."""
    target = folder / place
    if target.parent != folder:
        target.parent.mkdir(parents=True, exist_ok=True)
    try:
        sha256, size = _copied_and_hashed(source, target) if data is None else _written(data, target)
    except FileNotFoundError as error:
        raise NotAsStated(f"{source} was removed while the run was at work") from error
    if stated and sha256 != stated:
        text = "the file changed while the run was at work, its content is not what was read before"
        raise NotAsStated(f"{source}: {text}")
    return Copy(place, sha256, size)


def _copied_and_hashed(source: Path, target: Path) -> tuple[str, int]:
    """Copy a file in blocks, or let both share blocks where the file system can; the hash is that of the copy."""
    found = hashlib.sha256()
    size = 0
    with source.open("rb") as file, target.open("xb+") as copy:
        try:
            fcntl.ioctl(copy.fileno(), FICLONE, file.fileno())
        except OSError:  # most file systems cannot, and none can to another one
            read: Callable[[int], bytes] = file.read
            write: Callable[[bytes], int] = copy.write
        else:
            read, write = copy.read, len  # the bytes are there, so they are only hashed
        while chunk := read(CHUNK):
            found.update(chunk)
            size += write(chunk)
        os.fchmod(copy.fileno(), 0o444)  # the folder stays writable, because a plain user has to be able to remove it
    return found.hexdigest(), size


def _written(data: bytes, target: Path) -> tuple[str, int]:
    """Write a new file that is not to be changed; its digest and its size in bytes."""
    with open(target, "xb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fchmod(file.fileno(), 0o444)
    return hashlib.sha256(data).hexdigest(), len(data)


def _read_again(path: Path) -> str:
    """The digest of a file's content; empty for a link, and for what cannot be read as a file."""
    found = hashlib.sha256()
    try:
        descriptor = os.open(path, READ)
        try:
            while chunk := os.read(descriptor, CHUNK):
                found.update(chunk)
        finally:
            os.close(descriptor)
    except OSError:
        return ""
    return found.hexdigest()


def _inside(name: str) -> Path:
    place = Path(name)
    if not name or place.is_absolute() or ".." in place.parts:
        raise NotAsStated(f"{name!r} cannot be the name of an input file: it leads out of the folder of the call")
    return place


def _key(given: Mapping[str, GivenFile]) -> str:
    rows = {name: [one.sha256, dict(one.beside)] for name, one in given.items()}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def _locations(path: Path) -> list[str]:
    try:
        return external.locations(str(path))
    except InvalidModel:
        return []  # onnx's checker reports it
