"""Which cells the timing check has where nobody named compilers: each compiler gets a model from one framework."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench_plugin.checks.performance.plan import QUICK, TimingPlanner
from bench_plugin.domain.cell import Check
from bench_plugin.domain.settings import Selection, Settings
from bench_plugin.inventory.workspace import Workspace

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def planner() -> TimingPlanner:
    return TimingPlanner(Workspace.load(Settings(root=ROOT)))


def sources(planner: TimingPlanner, selection: Selection) -> dict[tuple[str, str], list[str]]:
    """The frameworks that each pair of a model and a compiler has cells of."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell, _ in planner.cells(Check.TIMING, selection):
        found.setdefault((cell.model, cell.compiler), []).append(cell.framework)
    return found


def test_quick_has_one_framework_for_each_compiler_and_the_usual_one_where_it_can(planner: TimingPlanner) -> None:
    found = sources(planner, replace(Selection(), profile="quick"))
    assert {model for model, _ in found} == set(QUICK) and len(found) >= 2 * 12
    assert all(len(frameworks) == 1 for frameworks in found.values()), found
    assert found["mobilenet_v2", "native"] == found["mobilenet_v2", "tflite"] == ["pytorch"]
    assert found["mobilenet_v2", "xla"] == ["tensorflow"], "which takes no other"


def test_a_framework_that_was_named_is_timed_beside_others(planner: TimingPlanner) -> None:
    found = sources(planner, replace(Selection(), profile="quick", frameworks=("tensorflow", "mxnet")))
    assert found["digits_cnn", "native"] == ["mxnet", "tensorflow"] and "tensorflow" in found["digits_cnn", "tflite"]


def test_a_compiler_that_was_named_gets_every_framework(planner: TimingPlanner) -> None:
    found = sources(planner, replace(Selection(), profile="quick", compilers=("native",), models=("digits_cnn",)))
    assert sorted(found["digits_cnn", "native"]) == ["mxnet", "pytorch", "tensorflow"]
