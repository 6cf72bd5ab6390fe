"""Keys of rows: everything that decides an outcome is in them, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bench_plugin.checks.registry import planners
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.paths import CHECKOUT, PACKAGE
from bench_plugin.domain.settings import Selection, Settings
from bench_plugin.generation.graphs import Graph
from bench_plugin.generation.search import KnownFailure, Signature
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix
from bench_plugin.session.row_keys import JUDGING, RowKeys

NAME = re.compile(r'"([a-z_0-9]+)"')  # of an adapter, among other texts


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace.load(Settings(root=CHECKOUT))


def key(
    workspace: Workspace, cell: Cell, *, threads: int = 1, k: float = 0.0, known: KnownFailure | None = None
) -> str:
    matrix = Matrix(workspace.models, workspace.catalog, list(workspace.targets), Selection(), planners(workspace))
    tolerances = {"k": k} if k else {}
    return RowKeys(workspace, matrix, threads=threads).key(cell, tolerances, [known] if known else [])


COMPILED = Cell(Check.EQUIVALENCE, "deeplabv3", "pytorch", "torchscript", 17, compiler="onnxruntime", precision="fp32")
GRAPHS = Cell(Check.PROPERTY, "Abs", "onnx", compiler="onnxruntime")


def test_what_decides_an_outcome_changes_its_key(workspace: Workspace) -> None:
    model = workspace.models[COMPILED.model]
    other_model = replace(model, digest="0" * 64)
    changed = [
        key(workspace, COMPILED),
        key(workspace, COMPILED, threads=2),
        key(workspace, COMPILED, k=3.0),
        key(workspace, replace(COMPILED, precision="fp16")),
        key(replace(workspace, seed=1), COMPILED),
        key(replace(workspace, calibration="entropy"), COMPILED),
        key(replace(workspace, options={"onnxruntime": {"optimisation": "none"}}), COMPILED),
        key(replace(workspace, targets={"local": {"name": "local", "gcc": "another"}}), COMPILED),
        key(replace(workspace, models={**workspace.models, COMPILED.model: other_model}), COMPILED),
    ]
    assert len(set(changed)) == len(changed)
    assert key(workspace, COMPILED) == changed[0] and len(changed[0]) == 12


def test_the_dataset_that_a_model_is_calibrated_with_is_in_its_key(workspace: Workspace) -> None:
    plain = next(model for model in workspace.models.values() if model.dataset)
    without = replace(plain, extra={name: value for name, value in plain.extra.items() if name != "dataset"})
    cell = replace(COMPILED, model=plain.name, framework="keras", exporter="", opset=0)
    assert not plain.training("keras"), "it is only calibrated with it, not trained"
    assert key(workspace, cell) != key(replace(workspace, models={**workspace.models, plain.name: without}), cell)


def test_the_failures_that_a_search_passes_over_are_in_its_key(workspace: Workspace) -> None:
    graph = Graph((), (), ())
    known = KnownFailure(Signature("run", "crash", ("Abs",), "bad"), graph, "a.toml row 1", own=True, replayed=True)
    other = replace(known, signature=replace(known.signature, message="worse"))
    keys = [key(workspace, GRAPHS, known=one) for one in (None, known, other, replace(known, own=False))]
    assert len(set(keys)) == 4
    assert key(replace(workspace, search="nightly"), GRAPHS) != keys[0]
    assert key(workspace, GRAPHS, known=replace(known, where="b.toml row 7")) == keys[1]


def test_our_code_for_onnx_files_is_in_every_key(workspace: Workspace) -> None:
    names = {
        name for path in (PACKAGE / "pipeline/tasks").glob("*.py") for name in NAME.findall(path.read_text("utf-8"))
    }
    tools = {name for name in names & set(workspace.catalog.adapters) if workspace.catalog[name].kind == "tool"}
    assert {"onnx_matching", "onnx_layers", "onnx_effects", "fixed_point_graphs"} <= tools
    for name in tools:
        folders = {
            str(folder.relative_to(PACKAGE))
            for folder in workspace.catalog[name].path.parents
            if folder.is_relative_to(PACKAGE)
        }
        assert folders & set(JUDGING), f"a change of {name} changes no key"
