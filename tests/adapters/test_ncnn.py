"""ncnn: what pnnx says of its graph, and what a file of weights holds."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.adapters.compilers.ncnn import (
    HALF_TAG,
    LACKS,
    LEFT,
    SKEW,
    Adapter,
    _batch_axes,
    _complaint,
    _half_weights,
    _inputs,
    _shapes,
)
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import CompileCall, Place, Port, Target

SCRIPT = """
            ex.input("in0", ncnn.Mat(in0.numpy(), batch_index=0).clone())
            ex.input("in1", ncnn.Mat(in1.numpy()).clone())
            _, out0 = ex.extract("out0")
            out.append(torch.from_numpy(out0.numpy(batch_index=1)))
"""


def _compiling(ports: Sequence[Port], outputs: int = 1, binding: Mapping[str, int] | None = None) -> CompileCall:
    return CompileCall(
        batched=False, precision="fp32", graph="original", target=Target(), input_ports=tuple(ports),
        output_ports=(Port("y"),) * outputs, binding=binding or {},
    )  # fmt: skip


def _call(outputs: int = 1) -> CompileCall:
    ports = [Port("x", "float32", ("batch", 3, 8, 8)), Port("tokens", "int64", (1, "sequence"))]
    return _compiling(ports, outputs, {"batch": 1, "sequence": 16})


def test_batch_axes_are_those_of_the_script_that_pnnx_writes(tmp_path: Path) -> None:
    path = tmp_path / "model_ncnn.py"
    path.write_text(SCRIPT, "utf-8")
    assert _batch_axes(str(path), _call()) == {"inputs": [0, None], "outputs": [1]}


def test_a_graph_of_other_outputs_than_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model_ncnn.py"
    path.write_text(SCRIPT, "utf-8")
    with pytest.raises(RuntimeError, match="1 outputs, the file 2"):
        _batch_axes(str(path), _call(outputs=2))


def test_shapes_are_fixed_by_the_binding() -> None:
    assert _shapes(_call()) == "[1,3,8,8]f32,[1,16]i64"


def test_inputs_of_rank_0_are_said_in_files(tmp_path: Path) -> None:
    call = _compiling([Port("x", "float32", (2, "n")), Port("s", "int64", ())], binding={"n": 3})
    call = call.at(Place(str(tmp_path), {}, {}, lambda stage: None))
    assert _inputs(call) == "input=in0.npy,in1.npy"
    first, second = (np.load(tmp_path / name, allow_pickle=False) for name in ("in0.npy", "in1.npy"))
    assert (first.shape, first.dtype.name, second.shape, second.dtype.name) == ((2, 3), "float32", (), "int64")


@pytest.mark.parametrize(
    ("port", "said"),
    [
        (Port("x", "bool", (2,)), "pnnx takes no input of type bool"),
        (Port("x", "float32", ("n",)), "nothing says what n is"),
    ],
)
def test_what_cannot_be_said_to_pnnx_is_unsupported(port: Port, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        _inputs(_compiling([port]))


def test_what_its_onnxruntime_says_is_told_apart() -> None:
    newer = "ort CreateSession failed ONNX Runtime only *guarantees* support for models stamped with ... "
    newer += "ValidateOpsetForDomain opset 27 is under development"
    assert SKEW.search(newer) and not LACKS.search(newer)
    assert LACKS.search("ort CreateSession failed Could not find an implementation for Add(14) node") is not None


def test_float16_weights_are_counted_at_whole_words_only(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    tag = struct.pack("<I", HALF_TAG)
    path.write_bytes(tag + np.ones(4, np.float16).tobytes() + b"\0\0" + tag + b"\0\0" + tag)
    assert _half_weights(str(path)) == 2


def test_the_complaint_is_the_line_that_names_a_cause() -> None:
    assert _complaint("pass_level0\nFailed to open model\ndone\n") == "Failed to open model"
    assert _complaint("pass_level0\n\n") == "pass_level0"


SAID = """############# pass_level5
todo ArgMax
############# pass_ncnn
ignore ArgMax ArgMax_0 param axis=1
ignore ArgMax ArgMax_0 param keepdims=1
"""


class Unopened(Adapter):
    """ncnn, of a graph that it cannot load."""

    def _opened(self, *_: object) -> object:
        raise RuntimeError("ncnn cannot load the graph: status -1")


def test_what_pnnx_leaves_as_onnx_has_it_is_no_layer_of_ncnn() -> None:
    assert LEFT.findall(SAID) == ["ArgMax"]
    call = CompileCall.__new__(CompileCall)
    with pytest.raises(Unsupported, match="no layer for ONNX's ArgMax, which pnnx leaves as it is"):
        Unopened()._opened_as_made(call, "model.param", "model.bin", SAID)
    with pytest.raises(RuntimeError, match="cannot load the graph"):
        Unopened()._opened_as_made(call, "model.param", "model.bin", "pass_ncnn")
