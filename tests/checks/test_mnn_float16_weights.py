"""MNN's w16: the weights that it rounded are read back from its file and compared with those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.adapters.compilers import mnn
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, write_file
from tests.project import Project

# A convolution whose normalisation is folded into it, and products with a matrix and with a stack of matrices, which
# MNN stores as a layer and as a constant.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(7)
known = {"w": rng.normal(0, 0.3, (8, 3, 3, 3)), "b": rng.normal(0, 0.3, 8), "m": rng.normal(0, 0.3, (36, 10)),
         "v": rng.normal(0, 0.3, (4, 10, 6)), "scale": rng.uniform(0.5, 2, 8), "shift": rng.normal(0, 0.3, 8),
         "mean": rng.normal(0, 0.3, 8), "variance": rng.uniform(0.5, 2, 8)}
known = {name: values.astype("float32") for name, values in known.items()}
known |= {"first": np.array([1, 8, 36]), "second": np.array([4, 2, 10])}
kind = sys.argv[2]
if kind not in ("plain", "own"):
    shape = {"vector": 10, "number": (), "twice": 10, "shared": 10, "divided": (1, 10), "both": (1, 10)}[kind]
    known |= {"k": rng.normal(1, 0.2, shape).astype("float32")}
if kind == "twice":
    known |= {"k2": known["k"]}
between = [h.make_node({"divided": "Div", "own": "HardSigmoid", "plain": "Identity"}.get(kind, "Mul"),
                       ["t", "k"] if "k" in known else ["t"], ["q"])]
if kind == "twice":
    between = [h.make_node("Mul", ["t", "k"], ["o"]), h.make_node("Tanh", ["o"], ["i"]),
               h.make_node("Add", ["i", "k2"], ["q"])]
if kind == "shared":  # the bias of a layer, which MNN leaves in float32, is a factor of its own, which it rounds
    between = [h.make_node("Tanh", ["t"], ["e"]), h.make_node("Mul", ["e", "k"], ["q"])]
if kind == "both":
    between = [h.make_node("Div", ["t", "k"], ["o"]), h.make_node("Tanh", ["o"], ["i"]),
               h.make_node("Mul", ["i", "k"], ["q"])]
nodes = [h.make_node("Conv", ["x", "w", "b"], ["c"]),
         h.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
         h.make_node("Sigmoid", ["n"], ["s"]), h.make_node("Reshape", ["s", "first"], ["r"]),
         h.make_node("MatMul", ["r", "m"], ["p"]),
         *([h.make_node("Add", ["p", "k"], ["a"])] if kind == "shared" else []),
         h.make_node("Tanh", ["a" if kind == "shared" else "p"], ["t"]),
         *between, h.make_node("Reshape", ["q", "second"], ["u"]), h.make_node("MatMul", ["u", "v"], ["y"])]
tensors = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 3, 8, 8])],
                     [h.make_tensor_value_info("y", 1, [4, 2, 6])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
# What a converter that writes another number for one weight would have written, where nothing was folded into it.
PLANT = """
        numpy = importlib.import_module("numpy")
        with open(path, "rb") as file:
            content = file.read()
        rng = numpy.random.default_rng(7)
        for shape in ((8, 3, 3, 3), (8,), (36, 10)):
            weights = rng.normal(0, 0.3, shape).astype("float32")
        halves = weights.T.astype("float16")
        halves = numpy.where(abs(halves) > abs(weights.T), numpy.nextafter(halves, numpy.float16(0)), halves)
        assert content.count(halves.tobytes()) == 1
        changed = halves.copy()
        changed[3, 5] = FACTOR * changed[3, 5]
        with open(path, "wb") as file:
            file.write(content.replace(halves.tobytes(), changed.tobytes()))
"""


def run(project: Project, kind: str = "plain", factor: float = 0.0) -> Mapping[str, Any]:
    """The row of w16 in MNN; with a ``factor`` one weight in its file is that many times as large."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), MAKE, "net.onnx", kind)
    name = "mnn"
    if factor:
        name, source = "planted", Path(mnn.__file__).read_text("utf-8").replace('"name": "mnn"', '"name": "planted"')
        call = "        self._opened(call, path)\n"
        assert source.count(call) == 1, "the place where the file is made"
        body = PLANT.replace("FACTOR", str(factor))
        compiles(project, project.write("planted.py", source.replace(call, body + call)))
    finished = project.run(f"--compilers={name}", "--precisions=w16", f"--bench-onnx={path}")
    (row,) = [row for row in finished.rows if row["kind"] == "cell" and "graph" not in row["cell"]]
    return row


def test_the_weights_of_the_artefact_are_what_the_run_is_compared_with(project: Project) -> None:
    row = run(project)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    converter = row["numbers"]["converter"]
    assert converter["constants"] == converter["compared"] == 3
    assert 0.3 < converter["worst_steps"] <= 0.501
    assert row["numbers"]["needed"] <= 1


@pytest.mark.parametrize("factor", [1.006, 0.9])
def test_a_weight_that_is_not_the_nearest_one_is_a_mismatch(project: Project, factor: float) -> None:
    row = run(project, factor=factor)
    assert row["status"] == "mismatch", row
    assert "converter: weight of " in row["reason"] and "from m of the file" in row["reason"]


@pytest.mark.parametrize(("kind", "constants"), [("vector", 4), ("number", 4), ("divided", 4), ("both", 5)])
def test_other_constants_are_read_back_too(project: Project, kind: str, constants: int) -> None:
    row = run(project, kind)
    assert row["status"] == "supported", row["reason"]
    assert row["placement"]["rounded_as"] == "as the artefact has them"
    assert row["numbers"]["converter"]["compared"] == constants


def test_where_a_constant_is_the_tool_s_own_the_ways_of_rounding_are_tried(project: Project) -> None:
    row = run(project, "own")
    assert any("weights of the artefact cannot be put into the file" in flag for flag in row["flags"]), row["flags"]
    assert row["placement"]["rounded_as"] not in ("", "as the artefact has them")
    assert row["numbers"].get("converter") is None


def test_a_constant_that_is_rounded_for_one_reader_and_not_for_another_is_no_mismatch(project: Project) -> None:
    row = run(project, "shared")
    assert row["status"] in ("supported", "unverified"), row["reason"]
    assert "k: read several times in the file, and rounded once in the artefact" in row["flags"]


def test_equal_constants_under_two_names_are_no_mismatch(project: Project) -> None:
    row = run(project, "twice")
    assert row["status"] in ("supported", "unverified"), row["reason"]
