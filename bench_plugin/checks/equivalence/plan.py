"""Cells of the equivalence check: every compiled model."""

from __future__ import annotations

from bench_plugin.checks.compiled.planner import CompiledPlanner
from bench_plugin.domain.cell import Check
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import Planner


class EquivalencePlanner(CompiledPlanner):
    """Compiled models, compared by their numbers."""

    checks = frozenset({Check.EQUIVALENCE})


def planner(workspace: Workspace) -> Planner:
    """What registry.py asks this folder for."""
    return EquivalencePlanner(workspace)
