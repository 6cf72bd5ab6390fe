"""TVM's contractions tell what it computes in: in a type of the file's own as it was asked to, in another one not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench_plugin.adapters.compilers import tvm
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.packs import blobs_of
from tests.adapters.real import answered, written


@pytest.mark.parametrize(
    ("precision", "types", "own", "effective"),
    [
        ("fp32", {"float32": 2}, {"fp32"}, "fp32"),
        ("fp32", {"float16": 2}, {"fp16"}, "fp16"),
        ("fp32", {"float16": 1, "int8": 1}, {"fp16", "fp32"}, "fp16, int8"),
        ("fp32", {"float16": 1, "float32": 2}, {"fp16", "fp32"}, "fp16, fp32"),
        ("fp16", {"float16": 2}, set(), "fp16"),
        ("fp16", {"float16": 2, "float32": 1}, set(), "fp16"),
        ("fp32", {}, set(), ""),
    ],
)
def test_the_files_own_types_are_as_asked(precision: str, types: dict[str, int], own: set[str], effective: str) -> None:
    assert tvm._effective(precision, types, own) == effective


@pytest.mark.parametrize("own", [{"fp32"}, set()])
def test_another_type_is_refused(own: set[str]) -> None:
    with pytest.raises(Unsupported, match="asked fp32, ran fp16"):
        tvm._effective("fp32", {"float16": 1}, own)


def test_a_file_of_float16_is_compiled_as_it_is(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]> g (float16[2,2] x, float16[2,2] w) => (float16[2,2] y)
    { y = MatMul(x, w) }"""
    model = written(text, tmp_path / "model.onnx")
    inputs = {"x": np.array([[1, 2], [3, 4]], np.float16), "w": np.eye(2, dtype=np.float16)}
    answer = answered("tvm", model, inputs, [("y", "float16", (2, 2))], tmp_path / "made")
    assert answer.error == "" and answer.compile["effective"] == "fp16"
    assert answer.outputs["out0"][2] == [[1.0, 2.0], [3.0, 4.0]]


def test_an_einsum_is_a_contraction_too(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]> g (float[2,2] x, float[2,2] w) => (float[2,2] y)
    { made = Einsum <equation = "ij,jk->ik"> (x, w)
      y = MatMul(made, w) }"""
    model = written(text, tmp_path / "model.onnx")
    inputs = {"x": np.array([[1, 2], [3, 4]], np.float32), "w": np.eye(2, dtype=np.float32)}
    answer = answered("tvm", model, inputs, [("y", "float32", (2, 2))], tmp_path / "made")
    assert answer.error == ""
    assert answer.compile["placement"]["contractions"] == {"integer": {}, "float": {"float32": 2}}


def test_a_sequence_comes_out_as_one_value(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]> g (float[4] x) => (seq(float[2]) y) <int64 two = {2}>
    { y = SplitToSequence <axis = 0> (x, two) }"""
    model = written(text, tmp_path / "model.onnx")
    x = np.array([1, 2, 3, 4], np.float32)
    answer = answered("tvm", model, {"x": x}, [("y", "", ())], tmp_path / "made")
    assert [[row["s"] for row in value] for value in answer.run["values"]] == [[[2], [2]]], answer.error


def test_a_sequence_is_given_as_such_and_refused_by_tvm_itself(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21]> g (seq(float[2]) x) => (seq(float[2]) y) { y = Identity(x) }"""
    model = written(text, tmp_path / "model.onnx")
    (described,), blobs = blobs_of([[np.zeros(2, np.float32)]])
    answer = answered(
        "tvm", model, {}, [("y", "", ())], tmp_path / "made", values={"x": described}, blobs=list(blobs.values())
    )
    assert "expect a Tensor but get ffi.Array" in answer.error
