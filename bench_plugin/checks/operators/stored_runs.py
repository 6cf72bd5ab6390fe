"""What one backend gave for operator cases, in one pack: thousands of cache entries would cost more than the cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.compare.operator_rules import Value
from bench_plugin.domain.outcome import STORABLE_SYMPTOMS, Failure, Stage, Symptom
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.tasks.corpus import Pack, tensors

DETAIL = 4000


@dataclass(frozen=True)
class CaseRun:
    """What a backend made of a case: its outputs, or where it failed. ``seconds`` per stage, ``peak`` in bytes."""

    failure: Failure | None
    outputs: list[Value]
    seconds: Mapping[str, float]
    peak: int
    meta: Mapping[str, Any]
    cached: bool = False
    retry: Mapping[str, Any] = field(default_factory=dict)


class StoredRuns:
    """What one backend gave in earlier runs and in this one, under one recipe."""

    def __init__(self, cache: Cache, key: str, *, refresh: bool) -> None:
        self._cache = cache
        self._key = key
        self._new: dict[str, CaseRun] = {}
        self._passing: dict[str, CaseRun] = {}  # what depends on more than its recipe lives as long as this run
        self._pack = None if refresh else self._stored()

    def get(self, name: str) -> CaseRun | None:
        """What is known of a case."""
        known = self._new.get(name) or self._passing.get(name)
        if known is not None:
            return known
        if self._pack is None or name not in self._pack.rows:
            return None
        row = self._pack.rows[name]
        reader = self._pack.reader
        outputs = [tensors(reader.value(value), value) for value in row["outputs"]]
        return CaseRun(_failure(row["failure"]), outputs, row["seconds"], row["peak"], row["meta"], cached=True)

    def add(self, name: str, ran: CaseRun) -> None:
        """Remember a result; a crash, a timeout or too much memory is never stored."""
        if ran.failure is None or ran.failure.symptom in (*STORABLE_SYMPTOMS, Symptom.VERSION_SKEW):
            self._new[name] = ran
        else:
            self._passing[name] = ran

    def save(self, folder: Path) -> None:
        """Store what this run added to what others have stored meanwhile."""
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
    plain = {"stage": Stage(row["stage"]), "symptom": Symptom(row["symptom"]), "types": tuple(row["types"])}
    return Failure(**{**row, **plain})
