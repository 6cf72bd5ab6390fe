"""The layers check through the whole plugin, with a compiler of the tests' own: what is cut, judged and timed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.project import Finished, Project, make_project

FAKE = Path(__file__).parent.parent / "fake"
TESTS = """
import pytest

@pytest.mark.bench(check="layers")
def test_layers(bench_cell):
    bench_cell.verify()
"""
# A residual network with two blocks alike; the batch is a symbol, or a number that is said behind the file's name.
NETWORK = """
import sys
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(0)
nodes, weights, given = [], [], "x"
batch = int(sys.argv[2]) if len(sys.argv) > 2 else "batch"
for block in range(2):
    for place in (1, 2):
        name = f"layer.{block}.conv{place}.weight"
        values = rng.standard_normal((4, 4, 3, 3)) / 6
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
    path = f"/layer/layer.{block}"
    a, b, c, d, e = (f"{letter}{block}" for letter in "abcde")
    nodes += [
        helper.make_node("Conv", [given, f"layer.{block}.conv1.weight"], [a], f"{path}/conv1/Conv", pads=[1] * 4),
        helper.make_node("Relu", [a], [b], f"{path}/relu/Relu"),
        helper.make_node("Conv", [b, f"layer.{block}.conv2.weight"], [c], f"{path}/conv2/Conv", pads=[1] * 4),
        helper.make_node("Add", [c, given], [d], f"{path}/Add"),
        helper.make_node("Relu", [d], [e], f"{path}/relu_1/Relu"),
    ]
    given = e
nodes.append(helper.make_node("GlobalAveragePool", [given], ["y"], "/pool/GlobalAveragePool"))
graph = helper.make_graph(
    nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 4, 6, 6])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 4, 1, 1])], weights,
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, sys.argv[1])
"""


def write(project: Project, python: Path) -> Project:
    """A project with one ONNX file, and the fake compiler."""
    adapters = f'adapters = ["{FAKE / "framework.py"}", "{FAKE / "compiler.py"}"]\n'
    project.write("bench.toml", f'{adapters}toolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    project.write("test_models.py", TESTS)
    subprocess.run([str(python), "-c", NETWORK, str(project.folder / "network.onnx")], check=True)
    return project


@pytest.fixture
def layered(project: Project, tools_python: Path) -> Project:
    """A project of the test's own."""
    return write(project, tools_python)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    """The project of the run that most tests look at."""
    return write(make_project(tmp_path_factory.mktemp("layers"), tools_python), tools_python)


@pytest.fixture(scope="module")
def usual(made: Project) -> Finished:
    """A run in which everything is right."""
    return run(made)


def run(project: Project, *arguments: str, fault: str = "none", compiler: str = "fakec") -> Finished:
    option = [f"--bench-option=fakec.fault={fault}"] if compiler == "fakec" else []
    named = [f"--compilers={compiler}", *option, "--bench-profile=smoke", "--bench-onnx=network.onnx"]
    return project.run(*named, *arguments)


def the_row(finished: Finished) -> Mapping[str, Any]:
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert len(rows) == 1, finished.text
    return rows[0]


def test_each_distinct_layer_is_judged_and_timed_once(usual: Finished) -> None:
    row = the_row(usual)
    assert usual.code == 0 and row["status"] == "supported", usual.text
    levels = row["numbers"]["levels"]
    layers = {tuple(one["operators"]): one for one in levels["layers"]}
    assert {key: one["occurrences"] for key, one in layers.items()} == {
        ("Conv", "Relu"): 2, ("Conv",): 2, ("Add", "Relu"): 2, ("GlobalAveragePool",): 1,
    }  # fmt: skip
    conv = layers["Conv", "Relu"]
    assert conv["name"] == "/layer/layer.0/conv1/Conv"
    assert conv["occurs_at"] == ["/layer/layer.0/conv1/Conv", "/layer/layer.1/conv1/Conv"]
    assert conv["signature"] == "Conv+Relu 1x4x6x6 -> 1x4x6x6 kernel 3x3 pads 1"
    assert conv["operations"] == 2 * 6 * 6 * 3 * 3 * 4 * 4
    assert conv["status"] == "supported" and conv["E"] < conv["tolerance_E"] and conv["strength"] == 1.0
    assert conv["truth"] == "file in float64"
    assert conv["median"] > 0 and conv["ops_per_s"] == pytest.approx(conv["operations"] / conv["median"])
    assert len(conv["launch_medians"]) == 2 and conv["interval"]["kind"] == "over launches"


def test_stacks_and_blocks_have_their_excess_over_their_own_layers(usual: Finished) -> None:
    levels = the_row(usual)["numbers"]["levels"]
    [block] = levels["blocks"]
    stack = levels["stacks"][0]
    assert [row["kind"] for row in levels["stacks"]] == ["stack of 2", "stack of 2", "stack of 4"]
    assert stack["occurrences"] == 2 and block["occurrences"] == 2
    assert stack["layers"] == ["/layer/layer.0/conv1/Conv", "/layer/layer.0/conv2/Conv"]
    assert block["name"] == "layer.0" and block["operators"] == ["Conv", "Relu", "Conv", "Add", "Relu"]
    medians = {one["name"]: one["launch_medians"] for one in levels["layers"]}
    for row in (stack, block):
        sums = [sum(each) for each in zip(*(medians[name] for name in row["layers"]), strict=True)]
        ratios = sorted(mine / total for mine, total in zip(row["launch_medians"], sums, strict=True))
        assert row["excess"]["median"] == pytest.approx(sum(ratios) / 2) and row["status"] == "supported"


def test_the_sum_of_all_layers_stands_against_the_model_of_the_same_launches(usual: Finished) -> None:
    levels = the_row(usual)["numbers"]["levels"]
    total, model = levels["sum"], levels["model"]
    assert total["missing"] == 0 and total["model"] == model["median"] > 0
    launches = [
        sum(one["occurrences"] * one["launch_medians"][at] for one in levels["layers"]) for at in range(2)
    ]  # fmt: skip
    assert total["layers"] == pytest.approx(sum(launches) / 2)
    assert total["ratio"]["launches"] == 2
    kinds = {one["kind"]: one for one in levels["kinds"]}
    assert kinds["Conv 3x3"]["distinct"] == 2 and kinds["Conv 3x3"]["occurrences"] == 4
    assert sum(one["share"] for one in kinds.values()) == pytest.approx(1)


def test_levels_1_and_2_have_no_accuracy_no_power_and_nothing_of_the_system(usual: Finished) -> None:
    """The figures that exist on each level are those of QuTiBench's table 4.2."""
    numbers = the_row(usual)["numbers"]
    lines = [one for key in ("layers", "stacks", "blocks") for one in numbers["levels"][key]]
    assert lines and not {"system", "power", "task", "accuracy"} & {key for one in lines for key in one}
    assert not {"timing", "power", "task", "accuracy"} & set(numbers)


def test_a_layer_that_is_wrong_is_named_and_fails_its_cell(layered: Project) -> None:
    finished = run(layered, fault="run-wrong")
    row = the_row(finished)
    assert finished.code == 1 and (row["status"], row["symptom"]) == ("mismatch", "mismatch"), finished.text
    assert "layer /layer/layer.0/conv1/Conv" in row["reason"] and "more of" in row["reason"]
    wrong = [one for one in row["numbers"]["levels"]["layers"] if one["status"] == "mismatch"]
    assert wrong and all(one["median"] > 0 for one in wrong), "the time of a wrong layer stays in the row"


def test_a_layer_that_ends_its_process_does_not_take_the_others_with_it(layered: Project) -> None:
    row = the_row(run(layered, fault="run-crash"))
    assert (row["status"], row["symptom"]) == ("ERROR", "crash")
    assert {one["status"] for one in row["numbers"]["levels"]["layers"]} == {"ERROR"}


def test_layers_of_a_file_with_a_fixed_batch_are_swept_all_the_same(layered: Project, tools_python: Path) -> None:
    """The first dimension of a layer's tensors is the batch, whatever the file of the whole model says."""
    subprocess.run([str(tools_python), "-c", NETWORK, str(layered.folder / "network.onnx"), "1"], check=True)
    row = the_row(run(layered, "--bench-batches=3"))
    assert row["cell"]["batch"] == 3 and row["status"] == "supported", row["reason"]
    levels = row["numbers"]["levels"]
    layer = levels["layers"][0]
    assert layer["ops_per_s"] == pytest.approx(3 * layer["operations"] / layer["median"])
    assert levels["model"]["status"] == "unsupported" and "batch 3" in levels["model"]["reason"]
    assert "ratio" not in levels["sum"] and levels["sum"]["layers"] > 0


def test_the_page_is_made_from_the_rows(usual: Finished, made: Project) -> None:
    assert usual.rows
    page = (made.folder / "reports/layers.md").read_text()
    assert "Conv+Relu 1x4x6x6 -> 1x4x6x6 kernel 3x3 pads 1" in page
    assert "stack of 2" in page and "excess" in page and "sum / model" in page
    assert "not an MLPerf result" in page
