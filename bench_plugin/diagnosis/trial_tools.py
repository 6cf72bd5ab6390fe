"""Our own tools beside the one on trial: float64 references, subgraph extraction, graphs of reduced precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.diagnosis.parts import CannotSay
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.processes.client import AgentFailure, Answer, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

EVALUATOR = "onnx_float64"
SECONDS = 600.0  # the tools are ours and not on trial
GIB = 2**30


class TrialTools:
    """Calls them in agents of the pool."""

    def __init__(self, workspace: Workspace, pool: AgentPool) -> None:
        self._workspace = workspace
        self._pool = pool

    def evaluated(self, path: Path, arrays: Mapping[str, Any], perturb: int | None = None) -> dict[str, Any]:
        """The graph's outputs in float64. Raises CannotSay, as ``call`` does."""
        if not arrays:
            raise CannotSay("the graph has no inputs, so there is nothing to evaluate it on")
        meta = {"batched": False, "ragged": False, "perturb": perturb}
        answer = self.call(EVALUATOR, "evaluate", meta, arrays, {"model.onnx": path})
        return dict(answer.arrays)

    def call(
        self, adapter: str, operation: str, meta: Mapping[str, Any], arrays: Mapping[str, Any],
        files: Mapping[str, Path],
    ) -> Answer:  # fmt: skip
        """What a tool's operation gives. Raises CannotSay where it cannot."""
        limits = Limits(SECONDS, self.limit(adapter))
        toolchain = self._workspace.catalog[adapter].toolchain
        try:
            with self._pool.lease(toolchain, role="tools") as agent:
                return agent.call(adapter, operation, dict(meta), arrays=arrays, files=files, limits=limits)
        except AgentFailure as error:
            raise CannotSay(f"{adapter} cannot {operation} this graph: {error.message}") from error

    def limit(self, adapter: str) -> int:
        """How many bytes an adapter may take."""
        return int(self._workspace.toolchains.memory_gb(self._workspace.catalog[adapter].toolchain) * GIB)
