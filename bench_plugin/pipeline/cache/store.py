"""The cache itself: looks entries up, stores them, and makes room, beside other threads and runs that do the same."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bench_plugin.domain.outcome import Failure
from bench_plugin.domain.paths import cache_root
from bench_plugin.pipeline.cache import versions
from bench_plugin.pipeline.cache.entry import Damaged, Entry, check_contents, entry_of, read, write
from bench_plugin.pipeline.cache.leases import Guard, Lease, living
from bench_plugin.pipeline.cache.locks import Patience, RecipeLocks
from bench_plugin.pipeline.cache.room import room_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

LIMIT_BYTES = 20 * 10**9
SPARED_SECONDS = 6 * 3600.0  # a run on another machine that shares the folder may have a lease that is not seen here
SECONDS_BETWEEN = 60.0  # from one attempt to make room to the next, while a run stores
SPARED_WHERE_SCARCE = 600.0  # seconds, where less is free: a full disk ends every run, a dropped entry is made again
ATTEMPTS = 20
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of stages; see `bench cache info`.\n"


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

    ``limit_bytes`` is the size that :meth:`close` reduces it to, or less where the disk is nearly full. There
    :meth:`put` drops old entries, too, and stores nothing more before the disk is full. ``note`` is called with a
    sentence for the user when an entry is dropped, when another run is waited for, and once when nothing can be stored
    any more.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limit_bytes: int = LIMIT_BYTES,
        note: Callable[[str], None] = lambda text: None,
        patience: Patience | None = None,
    ) -> None:
        self.folder = folder
        self._limit = limit_bytes
        self._note = note
        self._guard = Guard(folder / "locks" / "guard")
        self._locks = RecipeLocks(folder / "locks", note=note, patience=patience or Patience())
        self._lock = threading.Lock()
        self._lease: Lease | None = None
        self._storing = True
        self._closed = False
        self._stored = False
        self._made_room_at = -SECONDS_BETWEEN
        self._verified: set[Path] = set()  # the versions that this run has used
        self._keys: set[str] = set()  # the recipes of these

    def get(self, key: str) -> Entry | None:
        """The entry of a recipe, or None. Its content is verified at the first use in this run.

        An entry that is not what was stored is dropped, which is said, and never used.
        """
        version = self._held(key)
        if version is None:
            return None
        try:
            record = read(version, key)
            if version not in self._verified:
                check_contents(version, record)
        except Damaged as damage:
            self._drop(version, damage)
            return None
        with self._lock:
            self._verified.add(version)
            self._keys.add(key)
        with suppress(OSError):  # a cache that cannot be written can be read
            os.utime(version)  # the modification time says which entry was used least recently
        return entry_of(version, record)

    def put(
        self, key: str, *, stage: str, meta: Mapping[str, Any], arrays: Mapping[str, Array], files: Mapping[str, Path],
        failure: Failure | None, seconds: Mapping[str, float], peak_bytes: int,
    ) -> Entry:  # fmt: skip
        """Store a finished stage and return it as it will be read back.

        A fault of the disk (full or nearly full, read-only, forbidden) ends the storing for this run, which is said
        once, and the stage is returned as it was given. Raises ValueError for a failure that must not be stored (crash,
        timeout, out-of-memory, harness, board-lost), OSError for one of ``files`` that cannot be read.
        """
        if failure is not None and not failure.storable:
            raise ValueError(f"a {failure.symptom} depends on more than its recipe and is never stored")
        kept = Entry(meta, arrays, files, failure, seconds, peak_bytes)
        if not self._storing or not self._has_room():
            return kept
        with ExitStack() as opened:
            sources = {name: opened.enter_context(path.open("rb")) for name, path in files.items()}
            try:
                lease = self._leased()
                return kept if lease is None else self._put(lease, key, stage, kept, sources)
            except OSError as error:
                self._stop_storing(error)
                return kept

    @contextmanager
    def lock(self, key: str, what: str = "") -> Iterator[None]:
        """Hold the lock of a recipe while its stage is looked up and made, so that two runs make it only once.

        ``what`` names the stage for the line that says for whom this run waits. After some time (Patience) this run
        goes on without the lock: the stage is made twice then, and both are right. Raises LockCancelled when
        :meth:`cancel` is called while it waits.
        """
        with self._locks.held(key, what or f"recipe {key[:12]}", self._stop_storing):
            yield

    def cancel(self) -> None:
        """End the waiting for other runs, because this run ends."""
        self._locks.cancel()

    def usage(self) -> Usage:
        """Sizes and numbers of the entries, for each stage. Entries whose record or files do not fit are dropped."""
        stages: dict[str, tuple[int, int]] = {}
        for version in versions.scan(self.folder)[0]:
            if version.counts:
                try:
                    record = read(version.path, version.path.parent.name)
                except Damaged as damage:
                    self._drop(version.path, damage)
                    continue
                size, count = stages.get(record["stage"], (0, 0))
                stages[record["stage"]] = (size + version.size, count + 1)
        return Usage(self.folder, sum(s for s, _ in stages.values()), sum(c for _, c in stages.values()), stages)

    def prune(
        self, *, limit_bytes: int, older_seconds: float | None = None, spared_seconds: float = 0.0, free_bytes: int = 0
    ) -> tuple[int, int]:
        """Drop entries not used for ``older_seconds``, then the least recently used ones until the rest fits the limit.

        Where less than ``free_bytes`` of the disk is free, the limit is lower by what is missing.

        Entries that a living run uses, this one included, and those used in the last ``spared_seconds`` stay. What
        nobody can use goes in any case: replaced versions, half-made entries of ended runs, entries of older releases.
        Returns (entries, bytes) dropped.
        """
        now = time.time()
        try:
            used = self._used()
        except OSError as error:
            self._note(f"cache: {self.folder}: {error.strerror or error}; nothing is dropped")
            return 0, 0
        found, older = versions.scan(self.folder)
        doomed = {one.path: one.size for one in found if not one.counts}
        current = sorted((one for one in found if one.counts), key=lambda one: one.used_at)
        total = sum(one.size for one in current)
        freed = 0
        missing = max(0, free_bytes - shutil.disk_usage(self.folder).free) if free_bytes else 0
        limit_bytes = min(limit_bytes, total - missing)
        for one in current:
            old = older_seconds is not None and now - one.used_at > older_seconds
            spared = now - one.used_at < spared_seconds or versions.name(one.path) in used
            if (old or total - freed > limit_bytes) and not spared:
                doomed[one.path] = one.size
                freed += one.size
        removed = self._remove(doomed)
        more, freed_more = versions.remove_older_form(older, before=now - spared_seconds)
        self._sweep()
        return len(removed) + more, sum(doomed[path] for path in removed) + freed_more

    def close(self) -> None:
        """Give up the lease, and bring the cache below its limit if this run stored something: else it did not grow."""
        with self._lock:
            self._closed = True
            lease, self._lease = self._lease, None
        if lease is None:
            return
        lease.release()
        if self._stored and self._storing:
            room = room_of(self.folder)
            spared = SPARED_WHERE_SCARCE if room.scarce else SPARED_SECONDS
            self.prune(limit_bytes=self._limit, spared_seconds=spared, free_bytes=room.wanted)
        else:
            self._sweep()

    def _has_room(self) -> bool:
        """Whether the disk has room for another entry. Where it is scarce, old ones are dropped now and then."""
        try:
            room = room_of(self.folder)
            if room.scarce and self._may_make_room():
                self.prune(limit_bytes=sys.maxsize, spared_seconds=SPARED_WHERE_SCARCE, free_bytes=room.wanted)
                room = room_of(self.folder)
        except OSError:
            return True  # the folder is not there yet, or storing will tell what is wrong with it
        if room.full:
            self._stop_storing(OSError(errno.ENOSPC, f"only {room.free / 10**9:.2f} GB of its disk are free"))
        return not room.full

    def _may_make_room(self) -> bool:
        now = time.monotonic()
        with self._lock:
            due = now - self._made_room_at >= SECONDS_BETWEEN
            if due:
                self._made_room_at = now
        return due

    def _held(self, key: str) -> Path | None:
        """The current version of a recipe, which no run removes from now on; None where there is none."""
        place = versions.place(self.folder, key)
        if key in self._keys:
            version = versions.current(place)
            if version is None or version in self._verified:
                return version
        try:
            lease = self._leased()
            if lease is None:
                return versions.current(place)
            blocked = self._guard.blocked
            with self._guard.held(exclusive=False) as guarded:
                if not guarded:
                    if not blocked:
                        self._note(f"cache: {self.folder}: a stopped process locks it; its entries are not used")
                    return None
                version = versions.current(place)
                if version is not None:
                    lease.add(versions.name(version))
                return version
        except OSError as error:
            self._stop_storing(error)
            return versions.current(place)

    def _leased(self) -> Lease | None:
        """The lease of this run, made at first use; None when it cannot be made any more. Raises OSError."""
        with self._lock:
            if self._lease is None and self._storing and not self._closed:
                self._lease = Lease(self.folder / "leases")
                for name, text in (("CACHEDIR.TAG", TAG), (".gitignore", "*\n")):
                    if not (self.folder / name).exists():
                        (self.folder / name).write_text(text, "utf-8")
            return self._lease

    def _put(self, lease: Lease, key: str, stage: str, kept: Entry, sources: Mapping[str, IO[bytes]]) -> Entry:
        making = self.folder / "making" / lease.name / secrets.token_hex(4)
        place = versions.place(self.folder, key)
        try:
            making.mkdir(parents=True)
            record = write(making, key, stage, kept, sources)
            for attempt in range(ATTEMPTS):
                place.mkdir(parents=True, exist_ok=True)
                replaced = versions.below(place)
                version = versions.following(place)
                lease.add(versions.name(version))
                try:
                    os.rename(making, version)
                    break
                except FileNotFoundError:  # another run has removed the empty folder in this moment
                    if attempt == ATTEMPTS - 1:
                        raise
        finally:
            shutil.rmtree(making, ignore_errors=True)
        with self._lock:
            self._verified.add(version)
            self._keys.add(key)
            self._stored = True
        self._remove(replaced)
        return entry_of(version, record)

    def _drop(self, version: Path, damage: Damaged) -> None:
        """Let no run use a damaged entry any more, nor an older version of it."""
        if not version.exists():
            return  # another run has removed it in this moment
        self._note(f"cache: {version.parent.name[:12]}: {damage}; the entry is dropped")
        doomed = versions.below(version.parent)
        with self._lock:
            if self._lease is not None and version not in self._verified:
                self._lease.drop(versions.name(version))
        try:
            for one in doomed:
                versions.retire(one)
        except OSError as error:
            self._stop_storing(error)
        else:
            self._remove(doomed)

    def _remove(self, doomed: Iterable[Path]) -> list[Path]:
        """Remove the versions that no living run uses; returns those removed."""
        waiting = list(doomed)
        if not waiting:
            return []
        removed: dict[Path, Path] = {}
        making = self.folder / "making"
        try:
            making.mkdir(exist_ok=True)
            with self._guard.held(exclusive=True) as alone:
                used = self._used()
                for version in waiting if alone else ():
                    trash = making / f"trash-{secrets.token_hex(8)}"
                    if versions.name(version) not in used:
                        with suppress(FileNotFoundError):  # another run has removed it in this moment
                            os.rename(version, trash)  # quick, while everybody waits for the guard
                            removed[version] = trash
        except OSError as error:
            self._stop_storing(error)
        for version, trash in removed.items():
            shutil.rmtree(trash, ignore_errors=True)
            with suppress(OSError):  # the recipe has another version
                version.parent.rmdir()
        return list(removed)

    def _used(self) -> frozenset[str]:
        """The versions that the living runs use. Raises OSError."""
        with self._lock:
            own = self._lease
            mine = frozenset(versions.name(version) for version in self._verified) if not self._closed else frozenset()
        others = [held for name, held in living(self.folder / "leases").items() if own is None or name != own.name]
        return mine.union(own.held if own else (), *others)

    def _sweep(self) -> None:
        """Remove what ended runs have left half-made."""
        with suppress(OSError):
            left = list((self.folder / "making").glob("*"))  # before the leases: a new run has its lease first
            runs = living(self.folder / "leases")
            for folder in left:
                if folder.name not in runs:
                    shutil.rmtree(folder, ignore_errors=True)

    def _stop_storing(self, error: OSError) -> None:
        with self._lock:
            first, self._storing = self._storing, False
        if first:
            reason = "it is not a folder" if os.path.isfile(self.folder) else error.strerror or str(error)
            self._note(f"cache: {self.folder}: {reason}; the run goes on without storing")
