"""What a worker process does for a run: it agrees with the run on what is computed, and computes cells one by one.

The functions are called by the cluster's worker, in its threads. They take and return plain data. Agents live below a
guardian of this process, which ends them when this process ends, in whatever way.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_plugin import __version__
from bench_plugin.domain.axes import TIMED
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import BenchError, UsageError, require_linux
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.paths import LOGS, make_folder
from bench_plugin.domain.settings import Settings
from bench_plugin.results.series import NAMED
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.local import LocalEngine
from bench_plugin.session.engines.remote import messages
from bench_plugin.session.engines.remote.node import machine
from bench_plugin.session.unforeseen import unforeseen

PROJECT = "BENCH_PROJECT"  # the project's folder on this machine, where it is not that of the run
IDLE_SECONDS = 120.0  # after so long without a cell the run is taken for dead, and its agents end
LOOK_SECONDS = 1.0
LOG_BYTES = 64 * 1024  # of an agent's log that go with an outcome


class _Part:
    """The part that this process has in one run. The engine starts with the first cell."""

    def __init__(self, run: str, basis: Basis, settings: Settings, elsewhere: frozenset[str]) -> None:
        self.basis = basis
        self._run = run
        self._settings = settings
        self._elsewhere = elsewhere
        self._engine: LocalEngine | None = None
        self._lock = threading.Lock()
        self._active = 0
        self._used = time.monotonic()
        self._notes: list[str] = []
        threading.Thread(target=self._watch, name="bench-worker-idle", daemon=True).start()

    def computed(self, cell: Cell, tolerances: Mapping[str, float]) -> Outcome:
        """The outcome of a cell, whatever is raised."""
        with self._lock:
            self._active += 1
        try:
            engine = self._ready()
            if tolerances:
                engine.tolerances({cell: tolerances})
            with machine(alone=cell.check in TIMED):
                return engine.future(cell).result()
        except Exception as error:
            return unforeseen(error, self.basis.keys.versions(cell))
        finally:
            with self._lock:
                self._active -= 1
                self._used = time.monotonic()

    def notes(self) -> list[str]:
        """What a person should know, each once."""
        with self._lock:
            found, self._notes = self._notes, []
        return found

    def files(self, text: str, outcome: Outcome) -> dict[str, bytes]:
        """The files that an outcome names: its series, and the end of the agent's log where the cell did not pass."""
        folder = self._settings.results.parent
        names = {found.group().decode() for found in NAMED.finditer(text.encode())}
        found = {name: (folder / name).read_bytes() for name in names}
        if outcome.log and not outcome.passed:
            with suppress(OSError), open(outcome.log, "rb") as log:
                log.seek(max(0, os.path.getsize(outcome.log) - LOG_BYTES))
                found[LOGS] = log.read()
        return found

    def close(self) -> None:
        """End every agent, and remove what they left."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()
        shutil.rmtree(self._settings.results.parent, ignore_errors=True)

    def _ready(self) -> LocalEngine:
        with self._lock:
            if self._engine is None:
                for folder in (self._settings.results.parent, self._settings.results.parent / LOGS):
                    make_folder(folder, "the worker's own folder")
                self._engine = LocalEngine(self.basis, self._settings, self._notes.append, without=self._elsewhere)
            return self._engine

    def _watch(self) -> None:
        """Forget the run after a while without a cell: its process may have been killed."""
        while True:
            time.sleep(LOOK_SECONDS)
            with self._lock:
                if self._active or time.monotonic() - self._used < IDLE_SECONDS:
                    continue
            if _parts.pop(self._run, None) is self:
                self.close()
            return


_parts: dict[str, _Part] = {}
_joining = threading.Lock()


def join(text: str) -> str:
    """Agree with a run on what is computed; the answer says where this is, and what differs.

    The message has the ``run``, its ``version``, ``root``, ``settings``, ``toolchains`` and ``agreement``, the
    ``folder`` and ``threads`` of this worker, and the boards that are ``elsewhere``.
    """
    said = messages.read(text)
    with _joining:
        try:
            if said["run"] not in _parts:
                _parts[said["run"]] = _joined(said)
        except (BenchError, OSError) as error:
            return messages.written({"refused": str(error), **_here()})
        host = _parts[said["run"]].basis.workspace.fingerprints.host["digest"]
    return messages.written({"refused": "", "host": host, **_here()})


def compute(text: str) -> dict[str, Any]:
    """Compute a cell: the ``text`` of the answer has its outcome as a row, ``files`` are the files that it names.

    The message has the ``run``, the ``cell`` as its axes, and the ``tolerances`` of its test. An answer without a text
    says that this process does not know the run, so that :func:`join` must be called first.
    """
    said = messages.read(text)
    part = _parts.get(said["run"])
    if part is None:
        return {"text": "", "files": {}}
    cell = Cell.from_axes(said["cell"])
    outcome = part.computed(cell, said["tolerances"])
    row = messages.outcome_data(cell, outcome)
    key = part.basis.keys.key(cell, said["tolerances"], part.basis.known_failures(cell))
    answer = messages.written({"row": row, "key": key, "notes": part.notes()})
    return {"text": answer, "files": part.files(answer, outcome)}


def leave(run: str) -> None:
    """The run is over: its agents end soon after this returns, also those that are at work."""
    part = _parts.pop(run, None)
    if part is not None:
        threading.Thread(target=part.close, name="bench-worker-leave", daemon=True).start()


def _joined(said: Mapping[str, Any]) -> _Part:
    """Raises UsageError where this worker would not compute what the run means."""
    require_linux()
    if said["version"] != __version__:
        raise UsageError(f"bench_plugin is {__version__} there and {said['version']} here")
    root = Path(os.environ.get(PROJECT) or said["root"])
    if not root.is_dir():
        raise UsageError(f"there is no folder {root}; put the project there, or name its folder with {PROJECT}=FOLDER")
    settings = messages.settings_of(said["settings"], root)
    folder = Path(said["folder"]) / f"bench-{said['run']}"
    settings = replace(settings, jobs=said["threads"], results=folder / "results.jsonl")
    basis = Basis.load(settings)
    if differs := messages.differences(said["agreement"], messages.agreement(basis, said["toolchains"])):
        raise UsageError(differs)
    return _Part(said["run"], basis, settings, frozenset(said["elsewhere"]))


def _here() -> dict[str, str]:
    """This machine by a digest, because rows are shown to others: the same for all its workers."""
    return {"node": hashlib.sha256(platform.node().encode()).hexdigest()[:8]}
