"""Rows: the results that a run writes and all commands read, one JSON object per line (docs/results.md)."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench_plugin import __version__
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.numbers import complete, measured
from bench_plugin.results.opening import opened

SCHEMA = 1
KINDS = ("header", "plan", "declared", "cell")
Row = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Rows in the order of the file; ``notes`` are remarks for a person, such as on an incomplete last line."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def header_row(
    *,
    run: str,
    root: Path,
    state: Mapping[str, Any],
    command: Sequence[str],
    versions: Mapping[str, Any],
    seeds: Mapping[str, int],
    titles: Mapping[str, Any],
    host: Mapping[str, Any],
    licence: str = "",
    contributor: str = "",
) -> Row:
    """The row of the run: its id, machine, commit, command, locked versions and seeds.

    ``host`` is all of the machine that results depend on, ``state`` what is set and seen there, on which times depend.
    A ``licence`` of the rows (an SPDX identifier) and a ``contributor`` are in it where they are known.
    """
    origin = {"licence": licence, "contributor": contributor}
    return {
        "schema": SCHEMA,
        "kind": "header",
        "run": run,
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": machine(state),
        "state": dict(state),
        "host": dict(host),
        "commit": commit(root),
        "command": list(command),
        "versions": dict(versions),
        "seeds": dict(seeds),
        "titles": dict(titles),
        "bench_plugin": __version__,
        "python": platform.python_version(),
        **{name: said for name, said in origin.items() if said},
    }


def plan_row(
    *, count: int, hash: str, selection: Mapping[str, Any], total: int, totals: Mapping[str, int],
    shard: Mapping[str, Any] | None = None, planned: Mapping[str, Any] | None = None,
) -> Row:  # fmt: skip
    """The row of the plan: how many cells were selected, and how many the profile has (``totals`` by check).

    Of a shard it says which one it is, and ``planned`` has the cells of all shards (results/planned.py).
    """
    of_shard = {"shard": dict(shard), "planned": dict(planned)} if shard and planned else {}
    return {
        "schema": SCHEMA,
        "kind": "plan",
        "count": count,
        "hash": hash,
        "selection": dict(selection),
        "total": total,
        "totals": dict(totals),
        **of_shard,
    }


def declared_row(cell: Mapping[str, Any], *, status: Status, reason: str) -> Row:
    """The row of a cell that was decided before the run."""
    return {"schema": SCHEMA, "kind": "declared", "cell": dict(cell), "status": str(status), "reason": reason}


def cell_row(
    cell: Mapping[str, Any], outcome: Outcome, *, key: str, nodeid: str, expected: Mapping[str, Any] | None,
    repro: Sequence[str], result: str, settings: Mapping[str, Any], host: str,
) -> Row:  # fmt: skip
    """The row of a computed cell with its verdict.

    ``result`` is pytest's: passed, failed, xfailed or skipped; ``settings`` are those that it was computed with, and
    ``host`` is the digest of the host.
    """
    return {
        "schema": SCHEMA,
        "kind": "cell",
        "key": key,
        "cell": dict(cell),
        "check": cell["check"],
        "status": str(outcome.status),
        "result": result,
        "stage": _text(outcome.stage),
        "symptom": _text(outcome.symptom),
        "unverified": _text(outcome.unverified),
        "expected": dict(expected) if expected else None,
        "reason": outcome.reason,
        "detail": without_home(outcome.detail),
        "converted": outcome.converted,
        "verified": outcome.verified,
        "numbers": complete(cell["check"], finite(outcome.numbers)),
        "timings": dict(outcome.timings),
        "peaks": dict(outcome.peaks),
        "versions": dict(outcome.versions),
        "artefacts": dict(outcome.artefacts),
        "stages_cached": list(outcome.stages_cached),
        "flags": list(outcome.flags),
        "placement": dict(outcome.placement),
        "retry": dict(outcome.retry),
        "reusable": outcome.reusable,
        "log": outcome.log,
        "settings": dict(settings),
        "host": host,
        "repro": list(repro),
        "nodeid": nodeid,
    }


def without_home(text: str) -> str:
    """The text with the user's home folder written as ~: rows are published, and tracebacks name files in it."""
    home = os.path.expanduser("~")
    return text.replace(f"{home}/", "~/") if os.path.dirname(home) != home else text


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """The outcome in the row of a computed cell, the inverse of :func:`cell_row`."""
    return Outcome(
        status=Status(row["status"]),
        stage=Stage(row["stage"]) if row["stage"] else None,
        symptom=Symptom(row["symptom"]) if row["symptom"] else None,
        reason=row["reason"],
        detail=row["detail"],
        converted=row["converted"],
        verified=row["verified"],
        numbers=measured(row["numbers"]),
        timings=row["timings"],
        peaks=row["peaks"],
        versions=row["versions"],
        artefacts=row["artefacts"],
        stages_cached=tuple(row["stages_cached"]),
        flags=tuple(row["flags"]),
        placement=row["placement"],
        retry=row["retry"],
        log=row["log"],
        reusable=row.get("reusable", False),  # rows of older versions do not say it
        unverified=_kind(row),
    )


def of_run(row: Mapping[str, Any], run: str) -> Row:
    """The row with the id of its run behind its kind; the same row where the id is not known.

    >>> of_run({"schema": 1, "kind": "cell", "key": "k"}, "run-1")
    {'schema': 1, 'kind': 'cell', 'run': 'run-1', 'key': 'k'}
    """
    if not run:
        return dict(row)
    first = {key: row[key] for key in ("schema", "kind") if key in row}
    return {**first, "run": run, **{key: value for key, value in row.items() if key not in (*first, "run")}}


def read_rows(path: Path, loads: Callable[[bytes], Any] = json.loads) -> Rows:
    """The rows of a results file, one at least. Raises UsageError as :func:`parse_rows`, and for a file without any."""
    found = parse_rows(path, loads)
    if not found.rows:
        raise UsageError(f"{path}: there is no row in it")
    return found


def parse_rows(path: Path, loads: Callable[[bytes], Any] = json.loads) -> Rows:
    """The rows of a results file, which may be none; a line that is cut is left out, with a note.

    ``loads`` makes a value of a line of JSON, and raises ValueError for what is none.
    Raises UsageError for a missing file, for a line that is not a row, and for a row of another schema version.
    """
    try:
        with opened(path) as file:
            lines = file.read().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot read results: {error.strerror}") from error
    rows, notes = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = loads(line)
        except ValueError:
            notes.append(f"{path.name}: line {number} is incomplete or corrupt and was ignored")
            continue
        if not isinstance(row, dict) or row.get("kind") not in KINDS:
            raise UsageError(f"{path}: line {number} is not a row of a results file")
        if row.get("schema") != SCHEMA:
            raise UsageError(f"{path}: line {number} has schema {row.get('schema')!r}, this version reads {SCHEMA}")
        rows.append(row)
    return Rows(tuple(rows), tuple(notes))


def finite(value: Any) -> Any:
    """Plain data for JSON: numbers that are not finite become None, numpy scalars become Python's."""
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def machine(state: Mapping[str, Any]) -> dict[str, Any]:
    """What stays the same of a machine, from its ``state`` (agent/telemetry/machine.py), for the heads of pages.

    ``cpus`` counts the usable cores, ``memory_gb`` is in GiB. What cannot be known is absent.
    """
    facts = {key: state[key] for key in ("architecture", "system", "kernel", "cpu", "libc") if key in state}
    if "cores" in state:
        facts["cpus"] = len(state["cores"])
    if "memory_bytes" in state:
        facts["memory_gb"] = round(state["memory_bytes"] / 2**30, 1)
    return facts


def commit(root: Path) -> str:
    """The commit of ``root`` as ``git describe`` prints it; empty where it is not a git checkout."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _kind(row: Mapping[str, Any]) -> Unverified | None:
    """The kind of an unverified row; those of older versions do not say it and read as ``harness``."""
    if row["status"] != Status.UNVERIFIED:
        return None
    return Unverified(row.get("unverified") or Unverified.HARNESS)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
