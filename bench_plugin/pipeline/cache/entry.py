"""An entry of the cache on disk: a record with a digest of itself and of every file, which all lie in one folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bench_plugin.domain.outcome import Cause, Failure, Stage, Symptom

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

RECORD = "record.json"
RETIRED = "retired"  # an empty file beside the record: the version is not used any more, but a run may still read it
FORM = 2  # of the record; counts up when its fields change
CHUNK = 1 << 20
SUFFIX = re.compile(r"\.[A-Za-z0-9_]{1,16}")


class Damaged(Exception):
    """An entry is not what was stored. The text names the file and says what is wrong with it."""


@dataclass(frozen=True)
class Entry:
    """A finished stage: its results, or its ``failure``.

    ``arrays`` have any shapes and dtypes and are read from disk on use; ``seconds`` is by announced stage,
    ``peak_bytes`` the largest resident memory of its process. ``digests`` are the SHA-256 of its files by name, and of
    the stored arrays by ``array:<name>``; there are none for what is not stored.
    """

    meta: Mapping[str, Any]
    arrays: Mapping[str, Array]
    files: Mapping[str, Path]
    failure: Failure | None
    seconds: Mapping[str, float]
    peak_bytes: int
    digests: Mapping[str, str] = field(default_factory=dict)


class LazyArrays(Mapping[str, "Array"]):
    """Arrays of any shapes and dtypes by name, each loaded from its .npy file on use, never unpickled."""

    def __init__(self, folder: Path, names: Mapping[str, str]) -> None:
        self._folder = folder
        self._names = names

    def __getitem__(self, name: str) -> Array:
        import numpy as np

        loaded: Array = np.load(self._folder / self._names[name], allow_pickle=False)
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def write(folder: Path, key: str, stage: str, kept: Entry, sources: Mapping[str, IO[bytes]]) -> dict[str, Any]:
    """Write an entry into an empty folder and return its record. ``sources`` are the opened files of ``kept.files``.

    Raises OSError for a fault of the disk, ValueError for an array of Python objects.
    """
    import numpy as np

    contents: dict[str, tuple[int, str]] = {}
    arrays: dict[str, str] = {}
    files: dict[str, str] = {}
    for index, (name, values) in enumerate(kept.arrays.items()):
        arrays[name] = f"{index}.npy"
        with _HashedFile(folder / arrays[name]) as file:
            np.save(file, values, allow_pickle=False)
        contents[arrays[name]] = file.content
    for name, source in sources.items():
        files[name] = f"files-{len(files)}{_suffix(name)}"
        with _HashedFile(folder / files[name]) as file:
            while chunk := source.read(CHUNK):
                file.write(chunk)
        contents[files[name]] = file.content
    record = {
        "key": key, "stage": stage, "meta": dict(kept.meta), "arrays": arrays, "files": files,
        "failure": None if kept.failure is None else asdict(kept.failure), "seconds": dict(kept.seconds),
        "peak": kept.peak_bytes, "contents": contents,
    }  # fmt: skip
    (folder / RECORD).write_bytes(_sealed(json.dumps(record).encode("ascii") + b"\n"))
    return record


def read(folder: Path, key: str) -> dict[str, Any]:
    """The record of an entry whose folder holds exactly the files that were stored, with their sizes.

    What the files contain is not read here: :func:`check_contents` does. Raises Damaged.
    """
    try:
        with open(f"{folder}/{RECORD}", "rb") as file:
            data = file.read()
        found = {one.name: one.stat().st_size for one in os.scandir(folder)}
    except OSError as error:
        raise Damaged(f"{RECORD} cannot be read: {error.strerror}") from error
    body = data.partition(b"\n")[2]
    if data != _sealed(body):
        raise Damaged(f"{RECORD} is not what was stored")
    record: dict[str, Any] = json.loads(body)
    if record["key"] != key:
        raise Damaged(f"{RECORD} belongs to another recipe, {record['key'][:12]}")
    for name, (size, _) in record["contents"].items():
        if found.get(name) != size:
            raise Damaged(f"{name} {'is missing' if name not in found else f'has {found[name]} bytes, not {size}'}")
    strange = sorted(found.keys() - record["contents"].keys() - {RECORD, RETIRED})
    if strange:  # a tool that gets a file of this folder may also read what lies beside it
        raise Damaged(f"{strange[0]} was not stored")
    return record


def check_contents(folder: Path, record: Mapping[str, Any]) -> None:
    """Read every file of an entry and compare its SHA-256 with the record. Raises Damaged."""
    for name, (size, stored) in record["contents"].items():
        try:
            with open(f"{folder}/{name}", "rb") as file:
                large = size > CHUNK  # file_digest makes a buffer first, which takes longer than a small file
                digest = (hashlib.file_digest(file, "sha256") if large else hashlib.sha256(file.read())).hexdigest()
        except OSError as error:
            raise Damaged(f"{name} cannot be read: {error.strerror}") from error
        if digest != stored:
            raise Damaged(f"{name} is not what was stored")


def entry_of(folder: Path, record: Mapping[str, Any]) -> Entry:
    """The entry that a record describes."""
    files = {name: folder / file for name, file in record["files"].items()}
    arrays = LazyArrays(folder, record["arrays"])
    failure = _failure(record["failure"])
    stored = {**{f"array:{name}": file for name, file in record["arrays"].items()}, **record["files"]}
    digests = {name: record["contents"][file][1] for name, file in stored.items()}
    return Entry(record["meta"], arrays, files, failure, record["seconds"], record["peak"], digests)


class _HashedFile:
    """A new file whose size and SHA-256 are taken while it is written."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")
        self._digest = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> _HashedFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    @property
    def content(self) -> tuple[int, str]:
        """Size in bytes and SHA-256 of all that was written."""
        return self._size, self._digest.hexdigest()

    def write(self, data: bytes) -> int:
        """Append bytes. Raises OSError when the disk does not take them."""
        self._digest.update(data)
        self._size += len(data)
        return self._file.write(data)


def _sealed(body: bytes) -> bytes:
    """The text of record.json: a line with the digest of the rest, then the rest, which has the files' digests."""
    return b'{"form": %d, "sha256": "%s"}\n' % (FORM, hashlib.sha256(body).hexdigest().encode()) + body


def _suffix(name: str) -> str:
    """The suffix of a file's name, by which some tools tell formats; none where a file system may not take it."""
    suffix = Path(name).suffix
    return suffix if SUFFIX.fullmatch(suffix) else ""


def _failure(row: Mapping[str, Any] | None) -> Failure | None:
    if row is None:
        return None
    plain = {
        **row, "stage": Stage(row["stage"]), "symptom": Symptom(row["symptom"]), "types": tuple(row["types"]),
        "cause": Cause(row["cause"]),
    }  # fmt: skip
    return Failure(**plain)
