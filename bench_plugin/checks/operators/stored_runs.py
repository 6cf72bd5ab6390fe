"""The stored results of a backend's operator cases, in one pack.

Thousands of cache entries would take more time than the cases themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.compare.operators.values import Value
from bench_plugin.domain.outcome import Cause, Failure, Stage, Symptom
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.retry import Attempted, confirmation
from bench_plugin.pipeline.tasks.corpus import Pack, tensors

DETAIL = 8192  # characters; the end of a crashed agent's log with the frames of the crash fits


@dataclass(frozen=True, kw_only=True)
class CaseRun(Attempted):
    """The result of a case in a backend: its outputs [...], or its failure.

    ``seconds`` is by stage, ``peak`` the largest resident memory in bytes, ``cached`` true for an earlier run's result.
    ``deterministic`` says whether another run gave the same bits, None where there was none; ``unsteady`` is the
    sentence on two fresh processes whose results are further apart than the rule permits.
    """

    outputs: list[Value]
    seconds: Mapping[str, float]
    peak: int
    meta: Mapping[str, Any]
    cached: bool = False
    deterministic: bool | None = None
    unsteady: str = ""


class StoredRuns:
    """The results of one backend under one recipe, of earlier runs and of this one."""

    def __init__(self, cache: Cache, key: str, *, refresh: bool) -> None:
        self._cache = cache
        self._key = key
        self._new: dict[str, CaseRun] = {}
        self._passing: dict[str, CaseRun] = {}  # failures that depend on more than the recipe
        self._pack = None if refresh else self._stored()

    def get(self, name: str) -> CaseRun | None:
        """The result of a case, or None where there is none."""
        known = self._new.get(name) or self._passing.get(name)
        if known is not None:
            return known
        if self._pack is None or name not in self._pack.rows:
            return None
        row = self._pack.rows[name]
        reader = self._pack.reader
        outputs = [tensors(reader.value(value), value) for value in row["outputs"]]
        failure = _failure(row["failure"])
        return CaseRun(
            failure=failure, outputs=outputs, seconds=row["seconds"], peak=row["peak"], meta=row["meta"],
            fresh=bool(row["fresh"]), retry=confirmation(failure), cached=True,
            deterministic=row.get("deterministic"), unsteady=row.get("unsteady", ""),
        )  # fmt: skip

    def add(self, name: str, ran: CaseRun) -> None:
        """Add a result in place of an earlier one. A failure that may not be stored is kept for this run only."""
        kept, other = (self._new, self._passing) if lasting(ran.failure) else (self._passing, self._new)
        kept[name] = ran
        other.pop(name, None)

    def save(self, folder: Path) -> None:
        """Store the results of this run, together with those that other runs have stored in the meantime."""
        if not self._new:
            return
        with self._cache.lock(self._key):
            before = self._stored()
            index, data = folder / f"{self._key[:16]}.json", folder / f"{self._key[:16]}.bin"
            rows: dict[str, Any] = {}
            with data.open("wb") as file:
                writer = packs.Writer(file)
                for name, row in before.rows.items() if before else ():
                    if name not in self._new:
                        rows[name] = {**row, "outputs": [_copied(writer, before, value) for value in row["outputs"]]}
                for name, ran in self._new.items():
                    failure = None if ran.failure is None else {**asdict(ran.failure), "log": ""}
                    if failure:
                        failure["detail"] = failure["detail"][-DETAIL:]
                    rows[name] = {
                        "failure": failure, "outputs": [_written(writer, value) for value in ran.outputs],
                        "seconds": dict(ran.seconds), "peak": ran.peak, "meta": dict(ran.meta),
                        "fresh": ran.fresh, "deterministic": ran.deterministic, "unsteady": ran.unsteady,
                    }  # fmt: skip
            index.write_text(json.dumps(rows, separators=(",", ":")), "utf-8")
            self._cache.put(
                self._key, stage=str(Stage.RUN), meta={"cases": len(rows)}, arrays={},
                files={"runs.json": index, "runs.bin": data}, failure=None, seconds={}, peak_bytes=0,
            )  # fmt: skip
            self._pack, self._new = self._stored(), {}
        index.unlink()
        data.unlink()

    def _stored(self) -> Pack | None:
        entry = self._cache.get(self._key)
        return Pack(entry.files["runs.json"], entry.files["runs.bin"]) if entry else None


def lasting(failure: Failure | None) -> bool:
    """Whether a result may be stored; a version skew too, because it depends on the recipe alone."""
    if failure is None or failure.storable:
        return True
    return failure.symptom is Symptom.VERSION_SKEW and failure.cause != Cause.ENVIRONMENT


def _written(writer: packs.Writer, value: Value) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_written(writer, item) for item in value]
    values = value.values
    if value.dtype == "bfloat16":
        values = (values.view("uint32") >> 16).astype("uint16")
    return {**writer.add(values), "d": value.dtype}


def _copied(writer: packs.Writer, pack: Pack | None, description: Any) -> Any:
    if description is None or pack is None:
        return None
    if isinstance(description, list):
        return [_copied(writer, pack, item) for item in description]
    return {**description, **writer.add_bytes(pack.reader.bytes(description))}


def _failure(row: Mapping[str, Any] | None) -> Failure | None:
    if row is None:
        return None
    plain = {
        "stage": Stage(row["stage"]), "symptom": Symptom(row["symptom"]), "cause": Cause(row["cause"]),
        "types": tuple(row["types"]),
    }  # fmt: skip
    return Failure(**{**row, **plain})
