"""Rows: what a run writes and everything else reads (docs/results.md). One JSON object per line."""

from __future__ import annotations

import fcntl
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_plugin import __version__
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom

SCHEMA = 1
KINDS = ("header", "plan", "declared", "cell")
ENCODER = json.JSONEncoder(allow_nan=False)
Row = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Rows in the order of the file; ``notes`` are remarks for a person (a cut last line)."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def header_row(
    *,
    root: Path,
    command: Sequence[str],
    versions: Mapping[str, Any],
    seeds: Mapping[str, int],
    titles: Mapping[str, Any],
) -> Row:
    """The run: machine, commit, command, locked versions, seeds."""
    return {
        "schema": SCHEMA,
        "kind": "header",
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "commit": _commit(root),
        "command": list(command),
        "versions": dict(versions),
        "seeds": dict(seeds),
        "titles": dict(titles),
        "bench_plugin": __version__,
        "python": platform.python_version(),
    }


def plan_row(*, count: int, hash: str, selection: Mapping[str, Any], total: int) -> Row:
    """How many cells were selected, out of how many that the profile has."""
    return {
        "schema": SCHEMA,
        "kind": "plan",
        "count": count,
        "hash": hash,
        "selection": dict(selection),
        "total": total,
    }


def declared_row(cell: Mapping[str, Any], *, status: Status, reason: str) -> Row:
    """A cell that was decided before the run."""
    return {"schema": SCHEMA, "kind": "declared", "cell": dict(cell), "status": str(status), "reason": reason}


def cell_row(
    cell: Mapping[str, Any], outcome: Outcome, *, key: str, nodeid: str, expected: Mapping[str, Any] | None,
    repro: Sequence[str],
) -> Row:  # fmt: skip
    """A computed cell with its verdict."""
    return {
        "schema": SCHEMA,
        "kind": "cell",
        "key": key,
        "cell": dict(cell),
        "check": cell["check"],
        "status": str(outcome.status),
        "stage": _text(outcome.stage),
        "symptom": _text(outcome.symptom),
        "expected": dict(expected) if expected else None,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "converted": outcome.converted,
        "verified": outcome.verified,
        "numbers": finite(outcome.numbers),
        "timings": dict(outcome.timings),
        "peaks": dict(outcome.peaks),
        "versions": dict(outcome.versions),
        "artefacts": dict(outcome.artefacts),
        "stages_cached": list(outcome.stages_cached),
        "flags": list(outcome.flags),
        "placement": dict(outcome.placement),
        "retry": dict(outcome.retry),
        "log": outcome.log,
        "repro": list(repro),
        "nodeid": nodeid,
    }


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """The inverse of :func:`cell_row`."""
    return Outcome(
        status=Status(row["status"]),
        stage=Stage(row["stage"]) if row["stage"] else None,
        symptom=Symptom(row["symptom"]) if row["symptom"] else None,
        reason=row["reason"],
        detail=row["detail"],
        converted=row["converted"],
        verified=row["verified"],
        numbers=row["numbers"],
        timings=row["timings"],
        peaks=row["peaks"],
        versions=row["versions"],
        artefacts=row["artefacts"],
        stages_cached=tuple(row["stages_cached"]),
        flags=tuple(row["flags"]),
        placement=row["placement"],
        retry=row["retry"],
        log=row["log"],
    )


class ResultsWriter:
    """Appends rows; the file is made with the first one. Several processes may write to one file.

    Without ``resume`` an existing file becomes ``<name>.previous.jsonl`` when the run is opened.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self._resume = resume
        self._file: int | None = None

    def begin(self, run: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write the opening rows, once per ``run`` id: of several processes of one run the first does it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".run").open("a+") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            opened.seek(0)
            if opened.read() == run:
                return
            if not self._resume and self._path.exists():
                os.replace(self._path, self._path.with_suffix(".previous.jsonl"))
            for row in rows:
                self.append(row)
            opened.truncate(0)
            opened.write(run)

    def append(self, row: Mapping[str, Any]) -> None:
        """One row, whole or not at all: one write under a lock, behind a line that a killed run may have cut."""
        data = ENCODER.encode(row).encode() + b"\n"
        file = self._open()
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                data = b"\n" + data
            written = os.write(file, data)
            if written != len(data):
                raise OSError(f"{self._path}: only {written} of {len(data)} bytes of a row were written")
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def _open(self) -> int:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._file


def read_rows(path: Path) -> Rows:
    """Every row of a results file. Raises UsageError for a missing file, a corrupt line, or another schema."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot read results: {error.strerror}") from error
    rows, notes = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            notes.append(f"{path.name}: line {number} is cut or corrupt and was ignored")
            continue
        if not isinstance(row, dict) or row.get("kind") not in KINDS:
            raise UsageError(f"{path}: line {number} is not a row of a results file")
        if row.get("schema") != SCHEMA:
            raise UsageError(f"{path}: line {number} has schema {row.get('schema')!r}, this version reads {SCHEMA}")
        rows.append(row)
    if not rows:
        raise UsageError(f"{path}: there is no row in it")
    return Rows(tuple(rows), tuple(notes))


def finite(value: Any) -> Any:
    """Plain data for JSON: numbers that are not finite become text, numpy scalars become Python's."""
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def machine() -> dict[str, Any]:
    """What the run ran on."""
    facts: dict[str, Any] = {
        "architecture": platform.machine(),
        "system": platform.system(),
        "kernel": platform.release(),
    }
    facts["cpus"] = len(os.sched_getaffinity(0))
    facts.update(_proc_facts())
    facts["libc"] = " ".join(platform.libc_ver())
    return facts


def _proc_facts() -> Iterator[tuple[str, Any]]:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            yield "cpu", line.partition(":")[2].strip()
            break
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal"):
            yield "memory_gb", round(int(line.split()[1]) / 2**20, 1)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except OSError:
        return []


def _commit(root: Path) -> str:
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def run_of_results(path: Path) -> str:
    """The id of the run that opened a results file; empty when there is none."""
    try:
        return path.with_suffix(".run").read_text("utf-8")
    except OSError:
        return ""


def _text(value: object) -> str | None:
    return None if value is None else str(value)
