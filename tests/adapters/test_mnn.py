"""MNN: what it is asked to do with weights."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.compilers.mnn import _complaint
from bench_plugin.agent.packs import blobs_of
from tests.adapters.real import answered, written

# The weights lie between two numbers of float16.
MODEL = """
<ir_version: 8, opset_import: ["": 17]> g (float[1,2] x) => (float[1,1] y) <float[2,1] w = {0.1000366, 0.1000366}>
{ y = MatMul(x, w) }
"""


@pytest.mark.parametrize(("graph", "asked"), [("original", True), ("w16", False)])
def test_weights_that_come_rounded_are_not_rounded_again(tmp_path: Path, graph: str, asked: bool) -> None:
    model = written(MODEL, tmp_path / "model.onnx")
    x = np.ones((1, 2), np.float32)
    answer = answered("mnn", model, {"x": x}, [("y", "float32", (1, 1))], tmp_path, precision="w16", graph=graph)
    assert ("--fp16" in answer.compile["switches"]["converter"]) is asked, answer.error
    off = abs(answer.outputs["out0"][2][0][0] - 2 * 0.1000366)
    assert (off > 1e-5) == asked


# Neither a matrix of weights nor a convolution: there is nothing that the converter could store in integers.
WITHOUT = """
<ir_version: 8, opset_import: ["": 17]> g (float[1,2] x) => (float[1,2] y) <float[1,2] w = {0.5, 0.25}>
{ y = Mul(x, w) }
"""


@pytest.mark.parametrize("precision", ["w8", "w4"])
@pytest.mark.parametrize("source", [MODEL, WITHOUT], ids=["weights", "none"])
def test_integers_that_were_asked_for_are_refused_where_none_are_stored(
    tmp_path: Path, precision: str, source: str
) -> None:
    model = written(source, tmp_path / "model.onnx")
    size = 1 if source == MODEL else 2
    answer = answered(
        "mnn", model, {"x": np.ones((1, 2), np.float32)}, [("y", "float32", (1, size))], tmp_path,
        precision=precision, graph="original",
    )  # fmt: skip
    refused = f"asked {precision}, ran fp32: no weights of the artefact are quantised"
    if source == MODEL:
        assert "out0" in answer.outputs and refused not in answer.error, answer.error
    else:
        assert answer.symptom == "unsupported" and answer.error.endswith(refused), answer


WIDE = """
<ir_version: 8, opset_import: ["": 17]> g (int64[2] x) => (int64[2] y) { y = Neg(x) }
"""


def test_integers_of_64_bits_are_refused_where_32_do_not_hold_them(tmp_path: Path) -> None:
    model, port = written(WIDE, tmp_path / "model.onnx"), ("y", "int64", (2,))
    fits = answered("mnn", model, {"x": np.array([2**31 - 1, 5])}, [port], tmp_path / "fits")
    assert fits.outputs["out0"][2] == [1 - 2**31, -5], fits.error
    beyond = answered("mnn", model, {"x": np.array([2**31, 5])}, [port], tmp_path / "beyond")
    assert beyond.symptom == "unsupported" and "int64 has values beyond the 32 bits" in beyond.error


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (["[0:0:0] /a.cpp:1: Reshape error: 1 -> 0", "These Op Not Support: ONNX::DFT"], "These Op Not Support"),
        (["MNN LSTM not support 8th input", "These Op Not Support: ONNX::LSTM"], "MNN LSTM not support 8th input"),
        (["MNN LSTM not support sequence_lens, the result may has error", "MNN LSTM not support 8th input",
          "These Op Not Support: ONNX::LSTM"], "MNN LSTM not support 8th input"),
        (["Can't solve GRU because bias is not const", "These Op Not Support: ONNX::GRU"], "Can't solve GRU because"),
        (["read the model", "[ERROR] Reshape error: 1 -> 0", "Failed"], "Reshape error: 1 -> 0"),
        (["nothing that it knows"], "nothing that it knows"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_refused(said: list[str], first: str) -> None:
    assert _complaint(said).startswith(first)


# MNN's converter takes the value of such a node from memory that nobody wrote.
UNFILLED = """
<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) <int64[1] shape = {2}>
{ zeros = ConstantOfShape(shape)  y = Add(x, zeros) }
"""


def test_a_constant_that_nobody_wrote_is_no_zero_by_luck(tmp_path: Path) -> None:
    """Otherwise it is 0, as it should be, in most conversions, and a defect reads as supported."""
    model, x = written(UNFILLED, tmp_path / "model.onnx"), np.zeros(2, np.float32)
    for number in range(3):
        answer = answered("mnn", model, {"x": x}, [("y", "float32", (2,))], tmp_path / str(number))
        filled = np.frombuffer(b"\x7f" * 4, np.float32).item()
        assert answer.outputs["out0"][2] == [filled, filled], answer.error


# One operand: the converter reads the second.
CRASHES = """
<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Max(x) }
"""


def test_a_crash_of_the_converter_is_a_crash(tmp_path: Path) -> None:
    model = written(CRASHES, tmp_path / "model.onnx")
    with pytest.raises(AssertionError, match=f"ended with status {-signal.SIGSEGV.value}: "):
        answered("mnn", model, {"x": np.ones(2, np.float32)}, [("y", "float32", (2,))], tmp_path)


@pytest.mark.parametrize(
    ("text", "value", "output", "told"),
    [
        ("(seq(float[2]) x) => (float[2] y) <int64 k = {0}> { y = SequenceAt(x, k) }", [np.zeros(2, np.float32)],
         ("y", "float32", (2,)), "x is no tensor, and MNN's interface has variables of tensors alone"),
        ("(float[4] x) => (seq(float[2]) y) <int64 k = {2}> { y = SplitToSequence(x, k) }", np.zeros(4, np.float32),
         ("y", "", ()), "y is no tensor, and MNN's interface has variables of tensors alone"),
        ("(string[1] x) => (bool[1] y) { y = Equal(x, x) }", np.array(["a"], object),
         ("y", "bool", (1,)), "MNN takes no input of type str"),
    ],
)  # fmt: skip
def test_values_that_its_interface_has_not_are_refused(
    tmp_path: Path, text: str, value: Any, output: tuple[str, str, tuple[int, ...]], told: str
) -> None:
    model = written(f'<ir_version: 8, opset_import: ["": 19]> g {text}', tmp_path / "model.onnx")
    (described,), blobs = blobs_of([value])
    answer = answered(
        "mnn", model, {}, [output], tmp_path / "made", values={"x": described}, blobs=list(blobs.values())
    )  # fmt: skip
    assert (answer.symptom, answer.error.partition(": ")[2]) == ("unsupported", told)


def test_an_input_of_float64_without_elements_is_handed_over(tmp_path: Path) -> None:
    text = "g (float[2] x, double[0] like) => (double[2] y) { y = CastLike(x, like) }"
    model = written(f'<ir_version: 8, opset_import: ["": 19]> {text}', tmp_path / "model.onnx")
    given = {"x": np.array([1.5, -2], np.float32), "like": np.zeros(0, np.float64)}
    answer = answered("mnn", model, given, [("y", "float64", (2,))], tmp_path / "made")
    assert answer.outputs["out0"] == ["float32", [2], [1.5, -2.0]], answer.error
    refused = answered("mnn", model, {**given, "like": np.zeros(1)}, [("y", "float64", (2,))], tmp_path / "other")
    assert refused.error.startswith("Unsupported: MNN takes no input of type float64")
