"""Compiled graphs of a model, read by the adapters ``trace_<compiler>``, and what became of its nodes in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_plugin.characterise.compliance.figures import NOT_READABLE
from bench_plugin.characterise.compliance.traceability import CompiledNode, Traceability, traceability
from bench_plugin.characterise.facts import Facts
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.domain.settings import Settings
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.reach.processes.given_files import with_digests
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

PREFIX = "trace_"  # of the adapters that read a compiled graph, before the name of the compiler
CHECKER = "onnx_check"
SECONDS = 900.0
GIB = 2**30
NAMELESS = f"{NOT_READABLE}: its artefact names no nodes that could be read"


@dataclass(frozen=True)
class Traced:
    """A compiler's compiled graph: ``source`` is what it was read from; or ``why`` there is none."""

    compiler: str
    title: str = ""
    version: str = ""
    found: Traceability | None = None
    source: str = ""
    why: str = ""


class Tracer:
    """Compiles one ONNX file with several compilers and reads what they made of it. ``close`` ends the agents."""

    def __init__(self, settings: Settings, workspace: Workspace, note: Callable[[str], None]) -> None:
        self._workspace = workspace
        self._tasks = CompileTasks(workspace, threads=settings.runtime_threads())
        self._note = note
        self._pool = AgentPool(
            environments=lambda name: workspace.toolchains.ensure(name, progress=note),
            folder=settings.results.parent / "logs", adapters=workspace.catalog.sources,
            variables=workspace.variables,
        )  # fmt: skip

    def close(self) -> None:
        """End the agents."""
        self._pool.close()

    def trace(self, model: Path, facts: Facts, compiler: str, *, batch: int, sizes: Mapping[str, int]) -> Traced:
        """What became of the nodes of a file in what the compiler makes of it, at a batch and sizes of its symbols."""
        said = self._workspace.titles()["compilers"].get(compiler, {})
        found = self._found(model, facts, compiler, batch=batch, sizes=sizes)
        return replace(found, title=said.get("title", compiler), version=said.get("version", ""))

    def _found(self, model: Path, facts: Facts, compiler: str, *, batch: int, sizes: Mapping[str, int]) -> Traced:
        name = PREFIX + compiler
        if "onnx" not in self._workspace.catalog.compiler(compiler)[0].takes:
            return Traced(compiler, why=f"{NOT_READABLE}: it does not compile from ONNX files")
        if name not in self._workspace.catalog.adapters:
            return Traced(compiler, why=NAMELESS)
        self._note(f"{compiler}: compiling")
        cell = Cell(Check.EQUIVALENCE, model.stem, "onnx", compiler=compiler)
        file = with_digests(model.resolve())
        try:
            said = self._call(CHECKER, "check", {}, file).meta
            binding = _binding(said["inputs"], batch, sizes)
            ports = {"inputs": said["inputs"], "outputs": said["outputs"]}
            meta = {**self._tasks.settings(cell), **ports, "batched": False, "binding": binding}
            answer = self._call(name, "trace", meta, file)
        except AgentFailure as error:
            return Traced(compiler, why=f"not compiled: {error.message}")
        except EnvironmentMissing as error:
            return Traced(compiler, why=f"not compiled: {error}")
        nodes = [CompiledNode.read(row) for row in json.loads(answer.files["compiled.json"].read_bytes())]
        return Traced(compiler, found=traceability(facts, nodes), source=str(answer.meta["source"]))

    def _call(self, adapter: str, operation: str, meta: Mapping[str, Any], model: Any) -> Any:
        toolchain = self._workspace.catalog[adapter].toolchain
        limits = Limits(SECONDS, int(self._workspace.toolchains.memory_gb(toolchain) * GIB))
        with self._pool.lease(toolchain, role=adapter) as agent:
            return agent.call(adapter, operation, dict(meta), files={"model.onnx": model}, limits=limits)


def _binding(inputs: list[Mapping[str, Any]], batch: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """The size of every symbol of the inputs: the batch where it is the first dimension and has no size of its own."""
    binding = dict(sizes)
    for row in inputs:
        for axis, size in enumerate(row["shape"]):
            if isinstance(size, str) and size not in binding and axis == 0:
                binding[size] = batch
    return binding
