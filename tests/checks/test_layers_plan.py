"""Which cells of layers there are, and what is said of those that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.checks.layers.plan import LayersPlanner
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.settings import Selection, Settings
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.planner import Declared


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> LayersPlanner:
    return LayersPlanner(Workspace.load(Settings(root=Path(tmp_path_factory.mktemp("empty")))))


def cells(planner: LayersPlanner, **selection: object) -> list[tuple[Cell, Declared | None]]:
    return list(planner.cells(Check.LAYERS, Selection(**selection)))  # type: ignore[arg-type]


def test_a_model_and_a_compiler_are_one_cell_of_its_exported_file(planner: LayersPlanner) -> None:
    [(cell, declared)] = cells(planner, models=("resnet50",), compilers=("onnxruntime",))
    assert declared is None and (cell.framework, cell.exporter, cell.precision) == ("pytorch", "torchscript", "fp32")
    assert {"onnx_facts", "onnx_units", "onnx_subgraphs"} <= set(planner.adapters(cell))


def test_batches_and_threads_are_swept(planner: LayersPlanner) -> None:
    found = cells(planner, models=("resnet50",), compilers=("onnxruntime",), batches=(1, 8), threads=(1, 2))
    assert {(cell.batch, cell.threads) for cell, declared in found if declared is None} == {
        (1, 1), (1, 2), (8, 1), (8, 2),
    }  # fmt: skip


def test_small_profiles_take_one_small_model_by_themselves(planner: LayersPlanner) -> None:
    assert {cell.model for cell, _ in cells(planner, profile="quick")} == {"digits_cnn"}


def test_a_compiler_that_takes_the_frameworks_own_model_has_nothing_to_cut(planner: LayersPlanner) -> None:
    found = cells(planner, models=("resnet50",), compilers=("native",), frameworks=("pytorch",))
    assert found and all(declared and "no layer is a file" in declared.reason for _, declared in found)


def test_a_board_that_runs_one_program_cannot_time_layers_in_turn(planner: LayersPlanner) -> None:
    """Of the emulated microcontrollers that the plugin describes."""
    found = cells(planner, models=("digits_cnn",), compilers=("emx",), targets=("cortex-m55",), precisions=("fp32",))
    assert found and all(declared is not None for _, declared in found)
    assert any("one compiled program at a time" in declared.reason for _, declared in found if declared)
