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
    _carried,
    _complaint,
    _declared,
    _half_weights,
    _inputs,
    _integer_inputs,
    _pnnx,
    _shapes,
)
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import CompileCall, Place, Port, Target
from bench_plugin.agent.wire import Array
from tests.adapters.real import answered, written

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


def test_bfloat16_has_a_name_of_pnnx_but_no_file_of_arrays() -> None:
    assert _inputs(_compiling([Port("x", "bfloat16", (2, 3))])) == "inputshape=[2,3]bf16"
    with pytest.raises(Unsupported, match=r"from \.npy files, which have no bfloat16"):
        _inputs(_compiling([Port("x", "bfloat16", (2, 3)), Port("s", "bfloat16", ())]))


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


def test_memory_that_pnnx_does_not_write_holds_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "pnnx"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", "utf-8")
    (package / "pnnx").write_text('#!/bin/sh\necho "tunables: $GLIBC_TUNABLES"\n', "utf-8")
    (package / "pnnx").chmod(0o755)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.perturb=1")
    call = _call().at(Place(str(tmp_path), {}, {}, lambda stage: None))
    assert _pnnx(call, []).strip() == "tunables: glibc.malloc.tcache_count=0:glibc.malloc.perturb=255"


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


def test_integers_are_float32_but_where_a_layer_reads_integers(tmp_path: Path) -> None:
    path = tmp_path / "model.param"
    path.write_text(
        "7767517\n6 6\nInput in0 0 1 in0\nInput in1 0 1 in1\nInput in2 0 1 in2\nReshape r 1 1 in1 t 0=4\n"
        "Embed e 1 1 t u 0=2 1=20 2=0 3=40\nBinaryOp add 2 1 in0 in2 out0 0=0\n",
        "utf-8",
    )
    assert _integer_inputs(str(path), 3) == [1]


def test_an_integer_that_float32_lacks_is_unsupported() -> None:
    assert _carried(np.array([1, 2**24], np.int64), "float32").tolist() == [1.0, 2.0**24]
    with pytest.raises(Unsupported, match="float32, which has not all of the input's values"):
        _carried(np.array([2**24 + 1], np.int64), "float32")
    with pytest.raises(Unsupported, match="int32"):
        _carried(np.array([2**40], np.int64), "int32")


@pytest.mark.parametrize(
    ("values", "dtype", "found"),
    [
        ([3.0, 255.0], "uint8", "uint8"),
        ([3.0, 256.0], "uint8", "float32"),
        ([0.5], "int64", "float32"),
        ([float("nan")], "int32", "float32"),
        ([0.0, 1.0], "bool", "bool"),
        ([2.0], "bool", "float32"),
        ([9.3e18], "int64", "float32"),
        ([1.0], "float32", "float32"),
    ],
)
def test_whole_numbers_come_back_as_the_integers_that_the_file_declares(
    values: list[float], dtype: str, found: str
) -> None:
    given = np.array(values, np.float32)
    assert _declared(given, dtype).dtype.name == found
    assert np.array_equal(_declared(given, dtype).astype(np.float32), given, equal_nan=True)


def test_integers_are_added_as_numbers(tmp_path: Path) -> None:
    model = written(
        '<ir_version: 8, opset_import: ["": 17]> g (uint8[2,3] x, uint8[2,3] y) => (uint8[2,3] z) { z = Add(x, y) }',
        tmp_path / "add.onnx",
    )
    x, y = np.arange(6, dtype=np.uint8).reshape(2, 3), np.full((2, 3), 7, np.uint8)
    answer = answered("ncnn", model, {"x": x, "y": y}, [("z", "uint8", (2, 3))], tmp_path / "ncnn")
    assert answer.outputs["out0"] == ["uint8", [2, 3], (x + y).tolist()], answer.error
    assert "integers are float32" in answer.compile["notes"][0]


def test_bfloat16_is_given_as_the_float32_of_the_same_value(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 25]> g (bfloat16[1,3] x) => (float[1,3] y)
    { y = Cast <saturate = 1, to = 1> (x) }"""  # without saturate pnnx knows Cast, and ncnn has no layer for it
    model = written(text, tmp_path / "cast.onnx")
    x = np.array([[0.5, -3.0, 2.0**100]], np.float32)
    codes = (x.view(np.uint32) >> 16).astype(np.uint16)  # the upper half of a float32
    said, raw = {"x": {"d": "bfloat16", "s": [1, 3], "o": 0}}, [Array("uint8", (6,), codes.tobytes())]
    answer = answered("ncnn", model, {}, [("y", "float32", (1, 3))], tmp_path / "ncnn", values=said, blobs=raw)
    assert answer.outputs["out0"] == ["float32", [1, 3], x.tolist()], answer.error


@pytest.mark.parametrize("size", [0, 3])
def test_a_product_over_a_dimension_of_any_size_is_right(tmp_path: Path, size: int) -> None:
    text = f"""<ir_version: 10, opset_import: ["": 18]> g (float[2,{size},4] x) => (float[2,1,4] y)
    <int64[1] axes = {{1}}> {{ y = ReduceProd <keepdims = 1> (x, axes) }}"""
    model = written(text, tmp_path / "product.onnx")
    x = np.full((2, size, 4), 2, np.float32)
    answer = answered("ncnn", model, {"x": x}, [("y", "float32", (2, 1, 4))], tmp_path / "ncnn")
    assert answer.outputs["out0"] == ["float32", [2, 1, 4], x.prod(1, keepdims=True).tolist()], answer.error


def test_places_in_a_table_are_handed_over_as_integers(tmp_path: Path) -> None:
    table = ",".join(str(number) for number in range(40))
    model = written(
        f'<ir_version: 8, opset_import: ["": 17]> g (int64[1,4] x) => (float[1,4,2] z) '
        f"<float[20,2] w = {{{table}}}> {{ z = Gather(w, x) }}",
        tmp_path / "embed.onnx",
    )
    answer = answered("ncnn", model, {"x": np.array([[1, 2, 3, 19]])}, [("z", "float32", (1, 4, 2))], tmp_path / "ncnn")
    assert answer.outputs["out0"][2] == [[[2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [38.0, 39.0]]], answer.error


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


def test_integers_that_are_handed_over_as_floats_are_said(tmp_path: Path) -> None:
    model = written(
        '<ir_version: 8, opset_import: ["": 17]> g (int64[3] x, int64[3] n) => (int64[3] y) { y = Add(x, n) }',
        tmp_path / "model.onnx",
    )
    given = {"x": np.array([1, 2, 3], np.int64), "n": np.array([4, 5, 6], np.int64)}
    answer = answered("ncnn", model, given, [("y", "int64", (3,))], tmp_path / "made")
    assert answer.outputs["out0"][2] == [5, 7, 9], answer.error
    assert answer.compile["shims"] == [
        "the integers of x, n are handed over as float32, where pnnx's own script hands over int32"
    ]
