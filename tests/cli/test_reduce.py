"""Reducing and localising with a compiler that is broken on purpose: what is found is what was broken."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.diagnosis.failure_signature import alike
from bench_plugin.domain.texts.messages import normalised
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import written
from tests.project import Project, make_project

COMPILER = Path(__file__).parent.parent / "fake" / "broken_compiler.py"
FRAMEWORK = Path(__file__).parent.parent / "fake" / "framework.py"
# A product with weights, then a chain of operators; those that are asked for stand in its middle.
MAKE = """
import sys
import numpy as np
import onnx
from onnx import helper as h, numpy_helper as nh, TensorProto as T
path, *special = sys.argv[1:]
chain = ["Elu", "Softsign"] * 2 + special + ["LeakyRelu"]
w = np.random.default_rng(0).standard_normal((6, 6)).astype("f4")
nodes = [h.make_node("MatMul", ["x", "w"], ["t0"], "product")]
nodes += [h.make_node(k, [f"t{i}"], [f"t{i + 1}"], f"node_{i}") for i, k in enumerate(chain)]
last = f"t{len(chain)}"
g = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, ["batch", 6])],
                 [h.make_tensor_value_info(last, T.FLOAT, ["batch", 6])], [nh.from_array(w, "w")])
model = h.make_model(g, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, path)
"""
FAULTS = {
    "crash": ("Tanh", "run: crash"),
    "hang": ("Sigmoid", "run: timeout"),
    "refused": ("Softmax", "compile: exception: ValueError: no pattern for Softmax"),
    "wrong": ("Abs", "compare: mismatch"),
}


@pytest.fixture(scope="module")
def tools() -> Path:
    return Toolchains().ensure("onnxruntime")


@pytest.fixture
def broken(tmp_path: Path, tools: Path) -> Project:
    project = make_project(tmp_path, tools)
    project.write("bench.toml", f'adapters = ["{COMPILER}"]\ntoolchains = ["toolchains"]\n')
    return project


def _model(project: Project, tools: Path, *special: str) -> str:
    path = project.folder / "chain.onnx"
    subprocess.run([str(tools), "-c", MAKE, str(path), *special], check=True)
    return str(path)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_chain_is_reduced_to_the_node_that_is_broken(broken: Project, tools: Path, fault: str) -> None:
    operator, said = FAULTS[fault]
    path = _model(broken, tools, operator)
    done = broken.bench("reduce", path, "--compiler", "broken", "--timeout", "1", "--output", "found")
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout
    assert f"1 of 7 nodes: {operator}" in done.stdout
    found = json.loads((broken.folder / "found/reduction.json").read_text())
    assert (found["nodes"], found["operators"]) == (1, [operator])
    inputs = np.load(broken.folder / "found/inputs.npz", allow_pickle=False)
    assert [inputs[name].dtype.name for name in inputs.files] == ["float32"]
    expected = np.load(broken.folder / "found/expected.npz", allow_pickle=False)
    assert expected["out0"].dtype == np.float64


EQUIVALENCE = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""


def test_a_cell_is_reduced_with_the_options_that_it_ran_with(broken: Project, tools: Path) -> None:
    path = _model(broken, tools)
    broken.write("bench.toml", f'adapters = ["{FRAMEWORK}", "{COMPILER}"]\ntoolchains = ["toolchains"]\n')
    broken.write("test_models.py", EQUIVALENCE)
    finished = broken.run("--compilers=broken", "--bench-option=broken.softsign=wrong", f"--bench-onnx={path}")
    row = next(row for row in finished.rows if row["kind"] == "cell")
    assert row["status"] == "mismatch", finished.text
    done = broken.bench("reduce", row["key"], "--output", "found")
    found = json.loads((broken.folder / "found/reduction.json").read_text())
    assert (done.returncode, found["operators"]) == (0, ["Softsign"]), done.stdout + done.stderr


def test_a_property_cell_whose_example_is_gone_is_to_be_run_again(broken: Project) -> None:
    cell = {"check": "property", "model": "nodes", "framework": "onnx", "compiler": "broken"}
    row = {"schema": 1, "kind": "cell", "key": "0123456789ab", "nodeid": "t.py::t[x]", "cell": cell, "repro": []}
    settings = {"seed": 0, "threads": 1, "calibration": "minmax", "search": "quick", "options": {}}
    row |= {"status": "mismatch", "stage": "compare", "symptom": "mismatch", "settings": settings}
    broken.write("reports/results.jsonl", json.dumps(row) + "\n")
    done = broken.bench("reduce", "0123456789ab")
    assert done.returncode == 2
    assert "its example is not below reports/properties any more; run the cell again" in done.stderr
    broken.write("reports/results.jsonl", json.dumps({**row, "status": "supported", "symptom": None}) + "\n")
    assert "is supported: there is no failure to reduce" in broken.bench("reduce", "0123456789ab").stderr


def test_two_nodes_that_fail_together_stay_together(broken: Project, tools: Path) -> None:
    path = _model(broken, tools, "Neg", "Exp")
    done = broken.bench("reduce", path, "--compiler", "broken", "--output", "found")
    found = json.loads((broken.folder / "found/reduction.json").read_text())
    assert (done.returncode, found["operators"]) == (0, ["Neg", "Exp"])


def test_what_works_cannot_be_reduced(broken: Project, tools: Path) -> None:
    path = _model(broken, tools, "Relu")
    done = broken.bench("reduce", path, "--compiler", "broken", "--output", "found")
    assert done.returncode == 3
    assert "does not show the defect" in done.stderr


def test_a_graph_of_types_that_numpy_lacks_cannot_be_taken_apart(broken: Project) -> None:
    written(
        """<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y)
        { t = Cast <to = 22> (x)  u = Cast <to = 1> (t)  y = Abs (u) }""",
        broken.folder / "narrow.onnx",
    )
    done = broken.bench("reduce", "narrow.onnx", "--compiler", "broken", "--output", "found")
    assert done.returncode == 3
    assert "tensor t is of type int4, which numpy lacks: such a graph cannot be taken apart" in done.stderr


def test_the_guilty_node_is_found_among_those_that_pass_its_error_on(broken: Project, tools: Path) -> None:
    path = _model(broken, tools, "Abs")
    done = broken.bench("localise", path, "--compiler", "broken", "--output", "profile.html")
    assert done.returncode == 1, done.stdout + done.stderr
    wrong = [line for line in done.stdout.splitlines() if line.startswith("wrong: ")]
    assert [line.split()[1] for line in wrong] == ["Abs"]
    compilations = int(next(line for line in done.stdout.splitlines() if line.endswith("compilations")).split()[0])
    assert compilations <= 9
    page = (broken.folder / "profile.html").read_text()
    assert page.count("<rect") == 7
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_nodes_that_are_wrong_only_together_are_named_together(broken: Project, tools: Path) -> None:
    path = _model(broken, tools, "Neg", "Exp")
    done = broken.bench("localise", path, "--compiler", "broken")
    (wrong,) = [line for line in done.stdout.splitlines() if line.startswith("wrong: ")]
    assert "Neg, Exp" in wrong


def test_localising_a_crash_points_to_reduce(broken: Project, tools: Path) -> None:
    path = _model(broken, tools, "Tanh")
    done = broken.bench("localise", path, "--compiler", "broken")
    assert done.returncode == 3
    assert "bench reduce is for that" in done.stderr


def test_messages_are_compared_without_what_belongs_to_one_graph() -> None:
    first = "no pattern for Softmax of node 'node_12' with 20 nodes, shape (1, batch, 6) at /a/b.cc"
    second = "no pattern for Softmax of node 'node_3' with 4 nodes, shape (4, 6) at /c.cc"
    assert normalised(first) == normalised(second)
    assert alike("layer 'tf.split'", "layer 'tf.split_3'") and not alike("layer 'tf.split'", "layer 'tf.reshape'")
    assert normalised("KeyError: 'axes'", {"axes"}) == normalised("KeyError: 'shape'", {"shape"})
