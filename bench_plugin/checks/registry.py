"""The one list of checks: adding one is a folder beside this file and a line here."""

from __future__ import annotations

from bench_plugin.checks.equivalence.plan import EquivalencePlanner
from bench_plugin.checks.operators.plan import OperatorPlanner
from bench_plugin.checks.properties.plan import PropertyPlanner
from bench_plugin.checks.roundtrip.plan import RoundTripPlanner
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import Planner


def planners(workspace: Workspace) -> tuple[Planner, ...]:
    """The planner of every check, over what the workspace holds."""
    frameworks, compilers = workspace.catalog.of_kind("framework"), workspace.catalog.of_kind("compiler")
    return (
        RoundTripPlanner(workspace.models, frameworks),
        EquivalencePlanner(workspace.models, frameworks, compilers, tuple(workspace.targets)),
        OperatorPlanner(workspace.cases, compilers),
        PropertyPlanner(workspace.cases, compilers),
    )
