"""Our own tools for trials: float64 references, subgraph extraction, graphs of reduced precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.diagnosis.parts import CannotSay
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.processes.leased_agent import AgentFailure, Answer, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

EVALUATOR = "onnx_float64"
SECONDS = 600.0  # the limit in seconds of our own tools, which are not on trial
GIB = 2**30


class TrialTools:
    """Calls our own tools in agents of the pool."""

    def __init__(self, workspace: Workspace, pool: AgentPool) -> None:
        self._workspace = workspace
        self._pool = pool

    def evaluated(self, path: Path, arrays: Mapping[str, Any], perturb: int | None = None) -> dict[str, Any]:
        """The outputs [N, ...] of a graph in float64 for the inputs [N, ...], by name. Raises CannotSay as :meth:`call`
        does.

        ``perturb`` is the seed of a perturbation of inputs and weights by one ULP.
        """
        if not arrays:
            raise CannotSay("the graph has no inputs, so there is nothing to evaluate it on")
        meta = {"batched": False, "ragged": False, "perturb": perturb}
        answer = self.call(EVALUATOR, "evaluate", meta, arrays, {"model.onnx": path})
        return dict(answer.arrays)

    def call(
        self, adapter: str, operation: str, meta: Mapping[str, Any], arrays: Mapping[str, Any],
        files: Mapping[str, Path],
    ) -> Answer:  # fmt: skip
        """The answer of one operation. Raises CannotSay where it fails."""
        limits = Limits(SECONDS, self.limit(adapter))
        toolchain = self._workspace.catalog[adapter].toolchain
        try:
            with self._pool.lease(toolchain, role="tools") as agent:
                return agent.call(adapter, operation, dict(meta), arrays=arrays, files=files, limits=limits)
        except AgentFailure as error:
            raise CannotSay(f"{adapter} cannot {operation} this graph: {error.message}") from error

    def limit(self, adapter: str) -> int:
        """The memory limit of an adapter in bytes."""
        return int(self._workspace.toolchains.memory_gb(self._workspace.catalog[adapter].toolchain) * GIB)
