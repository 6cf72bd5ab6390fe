"""Cells of the quality check: every compiled model that is trained for a task."""

from __future__ import annotations

from bench_plugin.checks.compiled.planner import CompiledPlanner
from bench_plugin.domain.cell import Check
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import Planner


class QualityPlanner(CompiledPlanner):
    """Compiled models, compared by how well they do their task."""

    checks = frozenset({Check.QUALITY})

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, by_task=True)


def planner(workspace: Workspace) -> Planner:
    """What registry.py asks this folder for."""
    return QualityPlanner(workspace)
