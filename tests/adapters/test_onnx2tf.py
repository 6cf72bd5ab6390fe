"""onnx2tf as it is by default, with onnxsim in front of it: in the compiler's way and in the importer's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.inventory.adapters import BUILT_IN
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import answered, written

# ReduceMean iterates over its axes: onnx2tf wants a constant, which onnxsim makes of what a graph computes.
COMPUTED_AXES = """
<ir_version: 9, opset_import: ["": 18]> g (float[2,3] x) => (float[2,1] y) <int64 a = {1}, int64 b = {2}, int64 c = {1}>
{ axes = Range(a, b, c) y = ReduceMean<keepdims = 1>(x, axes) }
"""
EXTERNAL = """
import sys, numpy as np, onnx
from onnx import helper as h, numpy_helper as n
weight = n.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w")
value = lambda name, shape: h.make_tensor_value_info(name, 1, shape)
node = h.make_node("MatMul", ["x", "w"], ["y"])
graph = h.make_graph([node], "g", [value("x", [2, 3])], [value("y", [2, 2])], [weight])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.save(model, sys.argv[1], save_as_external_data=True, location=sys.argv[2], size_threshold=0)
"""
# The importer, called as an agent calls it.
IMPORT = """
import os, sys
from bench_plugin.agent import modules
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import ImportCall, Place, Port, RunImportedCall
import numpy as np
folder, path, scratch = sys.argv[1:]
for name in ("onnx_simplifier", "onnx2tf_conversion", "onnx2tf_layouts", "pruning", "tensorflow"):
    found = modules.loaded(f"bench_plugin.adapters.frameworks.{name}", os.path.join(folder, name + ".py"))
adapter = found.Adapter()
port = Port("x", "float32", (2, 3))
place = Place(scratch, {"model.onnx": path}, {}, lambda stage: None)
said = adapter.import_model(ImportCall(importer="onnx2tf", input_ports=(port,)).at(place))
x = np.ones((1, 2, 3), np.float32)
ran = adapter.run_imported(
    RunImportedCall(batched=False).at(Place(scratch, {}, {"in:x": from_numpy(x)}, lambda s: None))
)
print("RESULT", said.meta["switches"]["onnx2tf.onnxsim"], to_numpy(ran.arrays["out0"]).ravel().tolist(), flush=True)
os._exit(0)
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def external(tmp_path: Path) -> Path:
    """A file whose weights lie in ``w.onnx.data`` beside it."""
    path = tmp_path / "w.onnx"
    python = str(Toolchains().ensure("onnxruntime"))
    subprocess.run([python, "-c", EXTERNAL, str(path), "w.onnx.data"], check=True)
    return path


# PyTorch's exporter begins the names of nodes with a slash, and onnx2tf names variables of grouped convolutions so.
GROUPED = """
import sys, numpy as np, onnx
from onnx import helper as h, numpy_helper as n
weight = n.from_array(np.load(sys.argv[2]), "w")
value = lambda name, shape: h.make_tensor_value_info(name, 1, shape)
node = h.make_node("Conv", ["x", "w"], ["y"], "/net/Conv", group=2)
graph = h.make_graph([node], "g", [value("x", [1, 4, 5, 5])], [value("y", [1, 4, 3, 3])], [weight])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_a_grouped_convolution_may_have_a_name_that_begins_with_a_slash(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    x, w = draw.normal(size=(1, 4, 5, 5)).astype(np.float32), draw.normal(size=(4, 2, 3, 3)).astype(np.float32)
    model, weights = tmp_path / "grouped.onnx", tmp_path / "weights.npy"
    np.save(weights, w)
    python = str(Toolchains().ensure("onnxruntime"))
    subprocess.run([python, "-c", GROUPED, str(model), str(weights)], check=True)
    answer = answered("tflite", model, {"x": x}, [("y", "float32", (1, 4, 3, 3))], tmp_path / "tflite")
    assert not answer.error, answer.error
    windows = np.lib.stride_tricks.sliding_window_view(x[0].reshape(2, 2, 5, 5), (3, 3), axis=(2, 3))
    expected = np.einsum("gchwij,gocij->gohw", windows, w.reshape(2, 2, 2, 3, 3)).reshape(1, 4, 3, 3)
    assert np.allclose(answer.outputs["out0"][2], expected, atol=1e-5)


def test_axes_that_the_graph_computes_are_constants_behind_onnxsim(tmp_path: Path) -> None:
    model = written(COMPUTED_AXES, tmp_path / "axes.onnx")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    answer = answered("tflite", model, {"x": x}, [("y", "float32", (2, 1))], tmp_path / "tflite")
    assert answer.outputs["out0"][2] == [[1.0], [4.0]], answer.error
    assert answer.compile["switches"]["onnx2tf.onnxsim"] and answer.compile["switches"]["onnx2tf.strict_mode"]


@pytest.mark.parametrize("adapter", ["ncnn", "tflite"])
def test_weights_beside_the_file_are_handed_over_with_it(external: Path, tmp_path: Path, adapter: str) -> None:
    x = np.ones((2, 3), np.float32)
    answer = answered(adapter, external, {"x": x}, [("y", "float32", (2, 2))], tmp_path / adapter)
    assert answer.outputs["out0"][2] == [[6.0, 9.0], [6.0, 9.0]], answer.error


def test_weights_that_are_too_small_to_be_quantised_are_said(external: Path, tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    answer = answered("tflite", external, {"x": x}, [("y", "float32", (2, 2))], tmp_path / "tflite", precision="w8")
    assert "asked w8, ran fp32: the converter quantises weights of 1024 elements or more" in answer.error
    assert "the largest here has 6" in answer.error


def test_the_importer_gets_the_weights_beside_the_file_too(external: Path, tmp_path: Path) -> None:
    toolchains = Toolchains()
    if not toolchains.folder("tensorflow").is_dir():
        pytest.skip("the toolchain tensorflow is not made: bench env sync tensorflow")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [
        str(toolchains.ensure("tensorflow")),
        "-c",
        IMPORT,
        str(BUILT_IN / "frameworks"),
        str(external),
        str(scratch),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert "RESULT True [6.0, 9.0, 6.0, 9.0]" in done.stdout, done.stderr


def test_an_output_declared_with_a_symbol_of_another_size_is_put_back(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[batch,3,4,5] x) => (float[batch,2,batch,w] y)
    <float[2,3,1,1] k = {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}> { y = Conv<kernel_shape = [1, 1]>(x, k) }"""
    model, kernel = written(text, tmp_path / "model.onnx"), np.arange(6, dtype=np.float32).reshape(2, 3, 1, 1)
    x = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)
    answer = answered("tflite", model, {"x": x}, [("y", "float32", (1, 2, 4, 5))], tmp_path, binding={"batch": 1})
    assert answer.outputs["out0"][1] == [1, 2, 4, 5], answer.error
    assert np.allclose(answer.outputs["out0"][2], np.einsum("ij,njhw->nihw", kernel[:, :, 0, 0], x))


def test_outputs_without_elements_are_handed_out(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[0,3] x, float[2] z) => (float[0,3] y, float[2] w)
    { y = Acos(x) w = Neg(z) }"""
    model = written(text, tmp_path / "model.onnx")
    inputs = {"x": np.zeros((0, 3), np.float32), "z": np.array([1, 2], np.float32)}
    answer = answered("tflite", model, inputs, [("y", "float32", (0, 3)), ("w", "float32", (2,))], tmp_path)
    assert not answer.error, answer.error
    assert list(answer.outputs["out0"]) == ["float32", [0, 3], []]
    assert answer.outputs["out1"][2] == [-1.0, -2.0]
    assert answer.run["shims"] == [
        "an output without elements is made from its shape: LiteRT's binding does not hand it out"
    ]
