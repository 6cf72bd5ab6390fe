"""The cache of finished stages by recipe: metadata, arrays and files, each with its content hash."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.domain.paths import cache_root

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

LIMIT_BYTES = 20 * 10**9
SPARED_SECONDS = 6 * 3600.0  # most runs take less time than this
RECORD = "record.json"
CHUNK = 1 << 20
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of stages; see `bench cache info`.\n"


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

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> Array:
        import numpy as np

        loaded: Array = np.load(self._paths[name], allow_pickle=False)
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


@dataclass(frozen=True)
class Usage:
    """What the cache holds; ``stages`` gives (bytes, entries) for each stage."""

    folder: Path
    bytes: int
    entries: int
    stages: Mapping[str, tuple[int, int]]


def default_folder() -> Path:
    """The user's cache of stages, a folder of the cache root (domain/paths.py)."""
    return cache_root() / "stages"


class Cache:
    """A cache in one folder that runs and threads may share.

    ``limit_bytes`` is the size that :meth:`close` reduces it to. ``note`` is called with a sentence for the user when
    an entry is dropped, and once when nothing can be stored any more.
    """

    def __init__(
        self, folder: Path, *, limit_bytes: int = LIMIT_BYTES, note: Callable[[str], None] = lambda text: None
    ) -> None:
        self.folder = folder
        self._limit = limit_bytes
        self._note = note
        self._full = False
        self._used: set[str] = set()
        self._count = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> Entry | None:
        """The entry of a recipe, or None. An entry whose content does not have its hashes is dropped and never used."""
        place = self._place(key)
        try:
            record = json.loads((place / RECORD).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            record = {"hashes": {RECORD: "unreadable"}}
        wrong = next((name for name, digest in record["hashes"].items() if _digest(place / name) != digest), None)
        if wrong is not None:
            self._note(f"cache: {place.name[:12]}: {wrong} is not what was stored; the entry is dropped")
            shutil.rmtree(place, ignore_errors=True)
            return None
        with self._lock:
            self._used.add(key)
        os.utime(place)  # the modification time says which entry was used least recently
        return _entry(place, record)

    def put(
        self, key: str, *, stage: str, meta: Mapping[str, Any], arrays: Mapping[str, Array], files: Mapping[str, Path],
        failure: Failure | None, seconds: Mapping[str, float], peak_bytes: int,
    ) -> Entry:  # fmt: skip
        """Store a finished stage and return it as it will be read back.

        A full, read-only or forbidden disk ends the storing for this run, and the stage is returned as it was given.
        Raises ValueError for a failure that must not be stored (crash, timeout, out-of-memory, harness, board-lost),
        OSError for any other fault of the disk.
        """
        if failure is not None and not failure.storable:
            raise ValueError(f"a {failure.symptom} depends on more than its recipe and is never stored")
        kept = Entry(meta, arrays, files, failure, seconds, peak_bytes)
        if self._full:
            return kept
        making = self._making(key)
        try:
            self._prepare(making)
            record = _write(making, stage, kept)
            place = self._place(key)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(place, ignore_errors=True)
            os.rename(making, place)
        except OSError as error:
            shutil.rmtree(making, ignore_errors=True)
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            self._full = True
            self._note(f"cache: {self.folder}: {error.strerror}; the run goes on without storing")
            return kept
        with self._lock:
            self._used.add(key)
        return _entry(place, record)

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the lock of a recipe while its stage is looked up and made, so that two runs make it only once."""
        path = self.folder / "locks" / f"{key[:2]}.{key[:16]}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a")
        except OSError:
            yield  # nothing can be stored in this folder, so two runs cannot share a result either
            return
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def usage(self) -> Usage:
        """Sizes and numbers of the entries, for each stage."""
        stages: dict[str, tuple[int, int]] = {}
        for place in self._places():
            stage = json.loads((place / RECORD).read_text("utf-8"))["stage"]
            size, count = stages.get(stage, (0, 0))
            stages[stage] = (size + _size(place), count + 1)
        return Usage(self.folder, sum(s for s, _ in stages.values()), sum(c for _, c in stages.values()), stages)

    def prune(
        self, *, limit_bytes: int, older_seconds: float | None = None, spared_seconds: float = 0.0
    ) -> tuple[int, int]:
        """Drop entries not used for ``older_seconds``, then the least recently used ones until the rest fits the limit.

        Entries that this run used, or that any run used in the last ``spared_seconds``, stay: another run may be
        reading them. Returns (entries, bytes) dropped.
        """
        places = sorted(
            ((place.stat().st_mtime, _size(place), place) for place in self._places()), key=lambda row: row[0]
        )
        total = sum(size for _, size, _ in places)
        dropped = freed = 0
        now = time.time()
        for used_at, size, place in places:
            old = older_seconds is not None and now - used_at > older_seconds
            spared = now - used_at < spared_seconds or place.name in self._used
            if (old or total - freed > limit_bytes) and not spared:
                shutil.rmtree(place, ignore_errors=True)
                dropped += 1
                freed += size
        shutil.rmtree(self.folder / "making", ignore_errors=True)
        return dropped, freed

    def close(self) -> None:
        """Bring the cache below its limit, if this run stored something; otherwise it did not grow."""
        if self._count and self.folder.is_dir() and not self._full and self._used:
            self.prune(limit_bytes=self._limit, spared_seconds=SPARED_SECONDS)

    def _prepare(self, making: Path) -> None:
        making.mkdir(parents=True)
        for name, text in (("CACHEDIR.TAG", TAG), (".gitignore", "*\n")):
            if not (self.folder / name).exists():
                (self.folder / name).write_text(text, "utf-8")

    def _making(self, key: str) -> Path:
        with self._lock:
            self._count += 1
            return self.folder / "making" / f"{key[:16]}-{os.getpid()}-{self._count}"

    def _place(self, key: str) -> Path:
        return self.folder / "entries" / key[:2] / key

    def _places(self) -> Iterator[Path]:
        return (path.parent for path in (self.folder / "entries").glob(f"*/*/{RECORD}"))


def _write(making: Path, stage: str, kept: Entry) -> dict[str, Any]:
    import numpy as np

    hashes: dict[str, str] = {}
    arrays: dict[str, str] = {}
    files: dict[str, str] = {}
    for index, (name, values) in enumerate(kept.arrays.items()):
        arrays[name] = f"{index}.npy"
        np.save(making / arrays[name], values, allow_pickle=False)
    for name, path in kept.files.items():
        files[name] = f"files-{len(files)}{Path(name).suffix}"
        shutil.copyfile(path, making / files[name])
    for name in (*arrays.values(), *files.values()):
        hashes[name] = _digest(making / name)
    failure = None if kept.failure is None else asdict(kept.failure)
    record = {
        "stage": stage, "meta": dict(kept.meta), "arrays": arrays, "files": files, "failure": failure,
        "seconds": dict(kept.seconds), "peak": kept.peak_bytes, "hashes": hashes,
    }  # fmt: skip
    (making / RECORD).write_text(json.dumps(record), "utf-8")
    return record


def _entry(place: Path, record: Mapping[str, Any]) -> Entry:
    return Entry(
        record["meta"], LazyArrays({name: place / file for name, file in record["arrays"].items()}),
        {name: place / file for name, file in record["files"].items()}, _failure(record["failure"]), record["seconds"],
        record["peak"], _digests(record),
    )  # fmt: skip


def _digests(record: Mapping[str, Any]) -> dict[str, str]:
    stored = {**{f"array:{name}": file for name, file in record["arrays"].items()}, **record["files"]}
    return {name: record["hashes"][file] for name, file in stored.items()}


def _failure(row: Mapping[str, Any] | None) -> Failure | None:
    if row is None:
        return None
    plain = {**row, "stage": Stage(row["stage"]), "symptom": Symptom(row["symptom"]), "types": tuple(row["types"])}
    return Failure(**plain)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.iterdir())
