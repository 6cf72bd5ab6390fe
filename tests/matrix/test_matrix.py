"""The matrix: which cells a selection asks for, and what it says of the others."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from bench_plugin.checks.equivalence import plan as equivalence_plan
from bench_plugin.checks.operators.plan import OperatorPlanner
from bench_plugin.checks.quality import plan as quality_plan
from bench_plugin.checks.roundtrip.plan import RoundTripPlanner
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Status
from bench_plugin.domain.settings import Rule, Selection, Settings
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.inventory.models import load_models
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix, plan_hash

MODEL = """
name = "{name}"
family = "mlp"
task = "classification"
profiles = {profiles}
missing = {{ tensorflow = "not in keras.applications" }}
[[inputs]]
name = "x"
shape = [1, 8]
[constructors.pytorch]
callable = "torch.nn.Identity"
{more}
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text(
        MODEL.format(name="a", profiles='["smoke", "quick", "full"]', more='[constructors.mxnet]\ncallable = "m.n"')
    )
    (tmp_path / "b.toml").write_text(MODEL.format(name="b", profiles='["published", "full"]', more=""))
    return tmp_path


def matrix(folder: Path, catalog: Catalog, **selection: object) -> Matrix:
    models = load_models([folder])
    workspace = replace(Workspace.load(Settings(root=folder)), models=models, catalog=catalog)
    planners = [
        RoundTripPlanner(workspace),
        equivalence_plan.planner(workspace),
        quality_plan.planner(workspace),
        OperatorPlanner(workspace),
    ]
    return Matrix(models, catalog, ["local"], replace(Selection(), **selection), planners)  # ty: matching fields


def test_a_profile_selects_its_models_and_one_default_exporter_each(models: Path, catalog: Catalog) -> None:
    plan = matrix(models, catalog, profile="smoke").plan(Check.EXPORT)
    assert {(cell.model, cell.framework) for cell in plan.cells} == {("a", "pytorch"), ("a", "mxnet")}
    assert all(cell.opset == catalog[cell.framework].exporters[cell.exporter].opset for cell in plan.cells)


def test_a_framework_without_constructor_is_declared_with_the_reason_of_the_model_file(
    models: Path, catalog: Catalog
) -> None:
    plan = matrix(models, catalog, profile="smoke").plan(Check.IMPORT)
    declared = [row for row in plan.declared if row.cell.framework == "tensorflow"]
    assert declared and all(row.status is Status.NOT_PROVIDED for row in declared)
    assert declared[0].reason == "not in keras.applications"


def test_full_asks_for_every_pair_and_for_imports_into_other_frameworks(models: Path, catalog: Catalog) -> None:
    cells = matrix(models, catalog, profile="full").plan(Check.IMPORT).cells
    within = {(c.exporter, c.importer) for c in cells if c.model == "b" and c.importer_framework == "pytorch"}
    adapter = catalog["pytorch"]
    assert within == {(exporter, importer) for exporter in adapter.exporters for importer in adapter.importers}
    assert {c.importer_framework for c in cells if c.framework == "pytorch"} == {"pytorch", "tensorflow", "mxnet"}


def test_quick_stays_within_a_framework(models: Path, catalog: Catalog) -> None:
    cells = matrix(models, catalog).plan(Check.IMPORT).cells
    assert cells and all(cell.framework == cell.importer_framework for cell in cells)


def test_an_opset_outside_of_the_exporters_range_is_declared(models: Path, catalog: Catalog) -> None:
    plan = matrix(models, catalog, frameworks=("mxnet",), opsets=(99,)).plan(Check.EXPORT)
    assert not plan.cells
    assert plan.declared[0].status is Status.UNSUPPORTED
    assert "asked for 99" in plan.declared[0].reason


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_a_framework_without_constructor_is_declared_of_each_compiler_and_precision(
    models: Path, catalog: Catalog, precision: str
) -> None:
    """Also where the compiler does not offer the precision: the row says of which compiler it is, as pages need it."""
    wanted = {"models": ("a",), "frameworks": ("tensorflow",), "compilers": ("native", "xla")}
    plan = matrix(models, catalog, precisions=(precision,), **wanted).plan(Check.EQUIVALENCE)
    assert not plan.cells
    assert {(row.cell.compiler, row.cell.precision, row.reason) for row in plan.declared} == {
        (compiler, precision, "not in keras.applications") for compiler in ("native", "xla")
    }


def test_a_precision_that_round_trips_do_not_have_is_declared(models: Path, catalog: Catalog) -> None:
    plan = matrix(models, catalog, frameworks=("pytorch",), precisions=("int8",)).plan(Check.EXPORT)
    assert {row.reason for row in plan.declared} == {"round trips are checked at fp32, asked for w8a8"}


@pytest.mark.parametrize(
    ("axis", "value", "listed"),
    [
        ("models", ("nope",), "a, b"),
        ("frameworks", ("caffe",), "mxnet, pytorch, tensorflow"),
        ("compilers", ("gcc",), "onnxruntime"),
        ("targets", ("moon",), "local"),
        ("precisions", ("fp7",), "bf16"),
        ("exporters", ("magic",), "mx2onnx"),
        ("importers", ("magic",), "onnx2torch"),
        ("profile", "fast", "smoke, quick, published, full"),
    ],
)
def test_a_wrong_value_is_a_usage_error_that_lists_the_valid_ones(
    models: Path, catalog: Catalog, axis: str, value: object, listed: str
) -> None:
    with pytest.raises(UsageError, match=listed):
        matrix(models, catalog, **{axis: value})


def test_exclude_prunes_with_its_reason_and_include_adds_beyond_the_profile(models: Path, catalog: Catalog) -> None:
    exclude = (Rule({"framework": ("mxnet",)}, "its wheel is broken here"),)
    include = (Rule({"model": ("b",), "framework": ("pytorch",)}, "we ship b"),)
    plan = matrix(models, catalog, profile="smoke", exclude=exclude, include=include).plan(Check.EXPORT)
    assert {cell.framework for cell in plan.cells} == {"pytorch"}
    assert {cell.model for cell in plan.cells} == {"a", "b"}
    assert "excluded: its wheel is broken here" in {row.reason for row in plan.declared}


def test_a_marker_narrows_and_never_widens(models: Path, catalog: Catalog) -> None:
    plan = matrix(models, catalog, frameworks=("pytorch",)).plan(Check.EXPORT, {"frameworks": ["mxnet"]})
    assert plan.cells == ()
    with pytest.raises(UsageError, match="unknown axis 'planets'"):
        matrix(models, catalog).plan(Check.EXPORT, {"planets": ["mars"]})


def test_ids_are_unique_readable_and_stable(models: Path, catalog: Catalog) -> None:
    cells = matrix(models, catalog, profile="full").plan(Check.IMPORT).cells
    ids = [cell.id for cell in cells]
    assert len(set(ids)) == len(ids)
    cell = Cell(Check.IMPORT, "a", "pytorch", "dynamo", 20, "tensorflow", "onnx2tf")
    assert cell.id == "a-pytorch-dynamo-opset20-to-tensorflow-onnx2tf"
    assert Cell.from_axes(cell.axes()) == cell


def test_the_plan_hash_does_not_depend_on_the_order(models: Path, catalog: Catalog) -> None:
    cells = matrix(models, catalog, profile="full").plan(Check.IMPORT).cells
    assert plan_hash(cells) == plan_hash(cells[::-1])
    assert plan_hash(cells) != plan_hash(cells[1:])


def of_one_framework(folder: Path, name: str, framework: str, more: str = "") -> None:
    """Write a model that this framework alone has."""
    text = MODEL.replace("[constructors.pytorch]", f"[constructors.{framework}]").replace("missing = {{", "# {{")
    task = ('task = "classification"', f'task = "{more}"') if more else ("", "")
    (folder / f"{name}.toml").write_text(text.format(name=name, profiles='["full"]', more="").replace(*task))


@pytest.mark.parametrize("framework", ["mxnet", "tensorflow"])
def test_small_profiles_compile_what_the_first_framework_exports_that_has_the_model(
    models: Path, catalog: Catalog, framework: str
) -> None:
    of_one_framework(models, "other", framework)
    made = matrix(models, catalog, models=("other", "a"))
    plan = made.plan(Check.EQUIVALENCE)
    assert {(cell.model, cell.framework) for cell in plan.cells} == {("other", framework), ("a", "pytorch")}
    assert not plan.declared and not plan.without


def test_a_named_model_without_a_cell_says_why(models: Path, catalog: Catalog) -> None:
    of_one_framework(models, "boxes", "pytorch", "detection")
    of_one_framework(models, "keras", "tensorflow")
    made = matrix(models, catalog, models=("a", "boxes", "keras"))
    assert made.plan(Check.EQUIVALENCE).without == {
        "boxes": "its outputs are detections, which only round trips compare"
    }
    quality = made.plan(Check.QUALITY).without
    assert quality["keras"] == "it has no dataset on which its task could be judged"
    assert made.plan(Check.OPERATOR).without == {} == made.plan(Check.EXPORT).without
    other = made.plan(Check.EQUIVALENCE, {"models": ["a"]}).without
    assert other == dict.fromkeys(("boxes", "keras"), "the test's marker selects other models")
    apart = matrix(models, catalog, models=("keras",), frameworks=("tensorflow",), compilers=("inductor",))
    why = "the selected compilers take pytorch, and the model of tensorflow does not come as that"
    assert apart.plan(Check.EQUIVALENCE).without == {"keras": why}
    apart = matrix(models, catalog, models=("keras",), exporters=("mx2onnx",), frameworks=("tensorflow",))
    assert apart.plan(Check.EXPORT).without == {"keras": "no selected framework has both the model and mx2onnx"}
    assert apart.plan(Check.EXPORT).why_empty == "keras: no selected framework has both the model and mx2onnx"


def test_cells_of_a_board_stand_together_by_their_runtime(tmp_path: Path, catalog: Catalog) -> None:
    """A board has one agent at a time, of one toolchain: with cells model by model it would start one for each."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(MODEL.format(name=name, profiles='["quick"]', more=""))
    whole = {"compilers": ("onnxruntime", "tvm", "ncnn"), "precisions": ("fp32",), "targets": ("local", "aarch64")}
    folder = tmp_path / "workspace"
    folder.mkdir()
    workspace = replace(Workspace.load(Settings(root=folder)), models=load_models([tmp_path]), catalog=catalog)
    assert workspace.boards_of("aarch64") and not workspace.boards_of("local")
    planner = equivalence_plan.planner(workspace)
    cells = [cell for cell, _ in planner.cells(Check.EQUIVALENCE, replace(Selection(), **whole))]  # ty: matching fields
    order = [(cell.target, cell.model, cell.compiler) for cell in cells]
    assert [one[1:] for one in order if one[0] == "local"] == [
        (model, compiler) for model in ("a", "b") for compiler in whole["compilers"]
    ]
    board = [compiler for target, _, compiler in order if target == "aarch64"]
    assert len(board) == 6 and sum(one != other for one, other in pairwise(board)) == 2, board
