"""Operator cases in a backend: two processes that live from case to case, one compiles and the other runs.

A crash or a timeout costs its own case only. What a backend gave is kept in one pack per backend, since thousands of
cache entries would cost more than the cases themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench_plugin.agent import packs
from bench_plugin.compare.operator_rules import Tensor, Value
from bench_plugin.domain.outcome import STORABLE_SYMPTOMS, Failure, Stage, Symptom
from bench_plugin.inventory.adapters import Adapter
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.corpus import CaseData, Pack, given_arrays, tensors
from bench_plugin.pipeline.stages import failure_of
from bench_plugin.reach.processes.client import Agent, AgentFailure, Answer, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

ROLES = ("operators-compile", "operators-run")  # apart from the agents of models: these are held from case to case
STICKY = "operators"
LOOK_EVERY = 50  # cases after which an agent's memory is looked at
GROWN = 3  # an agent that holds more than a third of its limit is replaced
DETAIL = 4000
KEPT = ("effective", "placement", "notes", "shims")


@dataclass(frozen=True)
class Ran:
    """What a backend made of a case: its outputs, or where it failed."""

    failure: Failure | None
    outputs: list[Value]
    seconds: Mapping[str, float]
    peak: int
    meta: Mapping[str, Any]
    cached: bool = False
    retry: Mapping[str, Any] = field(default_factory=dict)


class Backend:
    """One compiler with its backend. Not to be used from two threads at once."""

    def __init__(
        self, pool: AgentPool, adapter: Adapter, toolchain: str, meta: Mapping[str, Any], limits: Limits, scratch: Path,
        roles: tuple[str, str] = ROLES,
    ) -> None:  # fmt: skip
        self._pool = pool
        self._adapter = adapter
        self._toolchain = toolchain
        self._meta = meta
        self._limits = limits
        self._scratch = scratch
        self._roles = roles
        self._held: dict[str, tuple[ExitStack, Agent]] = {}
        self._cases = 0

    def run(self, data: CaseData) -> Ran:
        """Compile the case and run it. Raises EnvironmentMissing."""
        self._cases += 1
        if self._cases % LOOK_EVERY == 0:
            self._look()
        ran, used = self._attempt(data)
        if ran.failure is None or ran.failure.symptom is not Symptom.CRASH or not used:
            return ran
        again, _ = self._attempt(data)  # what a used process dies of may be what it did before
        said = "finished" if again.failure is None else f"{again.failure.stage}: {again.failure.symptom}"
        first = f"{ran.failure.stage}: {ran.failure.symptom}: {ran.failure.message}"
        return Ran(
            again.failure, again.outputs, again.seconds, again.peak, again.meta, retry={"first": first, "fresh": said}
        )

    def close(self) -> None:
        """Give the agents back."""
        for role in list(self._held):
            self._release(role)

    def _attempt(self, data: CaseData) -> tuple[Ran, bool]:
        path = self._scratch / f"{data.name}-{os.urandom(4).hex()}.onnx"
        path.write_bytes(data.model)
        made: list[Path] = [path]
        seconds: dict[str, float] = {}
        meta: dict[str, Any] = {}
        peak, used, stage = 0, False, Stage.COMPILE
        together = self._adapter.declaration.get("artefact") is False
        row = data.row
        arrays, described = given_arrays(data)
        ports = {"inputs": _ports(row["inputs"]), "outputs": row["outputs"]}
        common = {**self._meta, **ports, "binding": _binding(row["inputs"], arrays)}
        try:
            if not together and self._roles[1] not in self._held:
                self._pool.prepare(self._toolchain, role=self._roles[1])
            agent = self._agent(self._roles[1] if together else self._roles[0])
            used = agent.calls > 0
            compiled = self._call(agent, "compile", common, {}, {"model.onnx": path})
            made += compiled.files.values()
            stage = Stage.RUN
            agent = self._agent(self._roles[1])
            used = used and agent.calls > 0
            asked = {**common, "whole": True, "ragged": False, "values": described}
            ran = self._call(agent, "run", asked, arrays, compiled.files)
        except AgentFailure as error:
            return Ran(failure_of(error, stage), [], seconds, peak, meta), used
        finally:
            for file in made:
                file.unlink(missing_ok=True)
        for answer in (compiled, ran):
            peak = max(peak, answer.peak_bytes)
            seconds.update({name: round(value, 6) for name, value in answer.seconds.items() if name != "call"})
            meta.update({name: answer.meta[name] for name in KEPT if answer.meta.get(name)})
        return Ran(None, _outputs(ran), seconds, peak, meta), used

    def _call(
        self, agent: Agent, operation: str, meta: Mapping[str, Any], arrays: Mapping[str, Any],
        files: Mapping[str, Path],
    ) -> Answer:  # fmt: skip
        return agent.call(self._adapter.name, operation, meta, arrays=arrays, files=files, limits=self._limits)

    def _agent(self, role: str) -> Agent:
        held = self._held.get(role)
        if held is not None and held[1].lost:
            self._release(role)
            held = None
        if held is None:
            stack = ExitStack()
            agent = stack.enter_context(self._pool.lease(self._toolchain, role=role, sticky=STICKY))
            held = self._held[role] = (stack, agent)
        return held[1]

    def _release(self, role: str) -> None:
        stack, _ = self._held.pop(role)
        stack.close()

    def _look(self) -> None:
        for role, (_, agent) in list(self._held.items()):
            if agent.lost or agent.resident() > self._limits.memory_bytes / GROWN:
                agent.close()
                self._release(role)


class Kept:
    """What one backend gave in earlier runs and in this one, under one recipe."""

    def __init__(self, cache: Cache, key: str, *, refresh: bool) -> None:
        self._cache = cache
        self._key = key
        self._new: dict[str, Ran] = {}
        self._passing: dict[str, Ran] = {}  # what depends on more than its recipe lives as long as this run
        self._pack = None if refresh else self._stored()

    def get(self, name: str) -> Ran | None:
        """What is known of a case."""
        known = self._new.get(name) or self._passing.get(name)
        if known is not None:
            return known
        if self._pack is None or name not in self._pack.rows:
            return None
        row = self._pack.rows[name]
        reader = self._pack.reader
        outputs = [tensors(reader.value(value), value) for value in row["outputs"]]
        return Ran(_failure(row["failure"]), outputs, row["seconds"], row["peak"], row["meta"], cached=True)

    def add(self, name: str, ran: Ran) -> None:
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


def _ports(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"layout": "", "dtype": "", "shape": [], **row} for row in rows]


def _binding(rows: list[dict[str, Any]], arrays: Mapping[str, Any]) -> dict[str, int]:
    """The sizes of symbolic dimensions: those of the case's own inputs."""
    found: dict[str, int] = {}
    for row in rows:
        given = arrays.get(f"in:{row['name']}")
        if given is not None:
            sizes = zip(row.get("shape", ()), given.shape, strict=False)
            found.update({dim: size for dim, size in sizes if isinstance(dim, str) and dim})
    return found


def _outputs(answer: Answer) -> list[Value]:
    described = answer.meta.get("values")
    if described is None:
        names = sorted((name for name in answer.arrays if name.startswith("out")), key=lambda name: int(name[3:]))
        return [Tensor(str(answer.arrays[name].dtype.name), answer.arrays[name]) for name in names]

    def read(description: Any) -> Any:
        if description is None:
            return None
        if isinstance(description, list):
            return [read(item) for item in description]
        raw = answer.arrays[f"{packs.VALUE}{description['o']}"]
        return packs.tensor_of(description["d"], description["s"], raw, codes=True)

    return [tensors(read(value), value) for value in described]


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
