"""Every kind of check: a folder beside this file with ``plan.py`` (which cells) and ``check.py`` (how they are run).

Adding a check is such a folder, and its name in :class:`~bench_plugin.domain.axes.Check`, which options, expectations
and rows are checked against.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from bench_plugin.checks.protocol import Checker, Parts
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import Planner

KINDS = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/plan.py")))


class PlanModule(Protocol):
    """``plan.py`` of a folder: which cells there are."""

    @staticmethod
    def planner(workspace: Workspace) -> Planner:
        """The planner over what the workspace holds."""


class CheckModule(Protocol):
    """``check.py`` of a folder: how a cell is carried through its stages."""

    @staticmethod
    def checker(parts: Parts) -> Checker:
        """The checker made of the parts of a run."""


def planners(workspace: Workspace) -> tuple[Planner, ...]:
    """The planner of every kind of check."""
    modules = (cast(PlanModule, import_module(f"bench_plugin.checks.{kind}.plan")) for kind in KINDS)
    return tuple(module.planner(workspace) for module in modules)


def checkers(parts: Parts) -> tuple[Checker, ...]:
    """The checker of every kind of check; imported when a run has cells to compute."""
    modules = (cast(CheckModule, import_module(f"bench_plugin.checks.{kind}.check")) for kind in KINDS)
    return tuple(module.checker(parts) for module in modules)
