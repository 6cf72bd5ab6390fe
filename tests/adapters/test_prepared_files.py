"""Files that onnxruntime's quantiser prepares for other tools are valid, and declare nothing that stops one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = r"""
import json, sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import Place, PrepareCall

folder, kind, graph, *every = sys.argv[1:]
rng = np.random.default_rng(0)
value = lambda name, shape: h.make_tensor_value_info(name, 10 if kind == "half" else 1, shape)
draw = lambda *shape: rng.standard_normal(shape).astype("float32")
branch = lambda kind: h.make_graph([h.make_node(kind, ["p", "own"], ["r"])], kind, [], [value("r", None)])
KINDS = {
    "old": (11, [h.make_node("Conv", ["x", "w"], ["c"]), h.make_node("Relu", ["c"], ["y"])], [1, 3, 6, 6],
            {"w": draw(4, 3, 3, 3)}),
    "attention": (23, [h.make_node("MatMul", ["x", "w"], ["q"]),
                       h.make_node("Attention", ["q", "q", "q"], ["y"], q_num_heads=2, kv_num_heads=2, is_causal=1)],
                  [1, 5, 8], {"w": draw(8, 8)}),
    "groups": (17, [h.make_node("Conv", ["x", "w"], ["c"]),
                    h.make_node("ConvTranspose", ["c", "t", "b"], ["y"], group=2)], [1, 3, 6, 6],
               {"w": draw(4, 3, 3, 3), "t": draw(4, 3, 2, 2), "b": draw(6)}),
    "recurrent": (17, [h.make_node("LSTM", ["x", "w", "r"], ["all", "last"], hidden_size=4, direction="bidirectional"),
                       h.make_node("MatMul", ["last", "v"], ["y"])], [1, 3, 5],
                  {"w": draw(2, 16, 5), "r": draw(2, 16, 4), "v": draw(4, 2)}),
    "quantised": (17, [h.make_node("QuantizeLinear", ["x", "s"], ["q"]),
                       h.make_node("DequantizeLinear", ["q", "s"], ["d"]), h.make_node("Relu", ["d"], ["y"])],
                  [1, 8], {"s": np.array(0.1, "float32")}),
    "symbolic": (14, [h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("Relu", ["a"], ["r"]),
                      h.make_node("MatMul", ["r", "w"], ["y"])], ["N", 8], {"w": draw(8, 8)}),
    "number": (17, [h.make_node("Gemm", ["x", "w", "c"], ["y"])], [1, 8],
               {"w": draw(8, 5), "c": np.array(0.3, "float32")}),
    "nothing": (17, [h.make_node("Gemm", ["x", "w", "b"], ["y"], beta=0.0)], [1, 8], {"w": draw(8, 5), "b": draw(5)}),
    "branches": (17, [h.make_node("ReduceMean", ["x"], ["m"], keepdims=0), h.make_node("Cast", ["m"], ["k"], to=9),
                      h.make_node("MatMul", ["x", "w"], ["p"]),
                      h.make_node("If", ["k"], ["y"], then_branch=branch("Add"), else_branch=branch("Mul"))], [1, 8],
                 {"w": draw(8, 5), "own": draw(5)}),
    "half": (19, [h.make_node("Gemm", ["x", "w", "b"], ["y"])], [1, 8], {"w": draw(8, 5), "b": draw(5)}),
}
opset, nodes, shape, weights = KINDS[kind]
if kind == "half":
    weights = {name: values.astype("float16") for name, values in weights.items()}
made = h.make_graph(nodes, "g", [value("x", shape)], [value("y", None)],
                    [nh.from_array(values, name) for name, values in weights.items()])
model = onnx.shape_inference.infer_shapes(h.make_model(made, opset_imports=[h.make_opsetid("", opset)], ir_version=10))
del model.graph.value_info[:]
onnx.checker.check_model(model)
onnx.save(model, folder + "/m.onnx")
sizes = [size for size in shape if size != "N"][1 if shape[0] == 1 else 0:]
inputs = {"calib:x": from_numpy(draw(8, *sizes).astype("float16" if kind == "half" else "float32"))}
place = Place(folder, {"model.onnx": folder + "/m.onnx"}, inputs, lambda stage: None)
reply = onnx_graphs.Adapter().prepare(PrepareCall(graph=graph, batched=True, every_contraction=bool(every)).at(place))
found = onnx.load(reply.files["model.onnx"])
onnx.checker.check_model(found)
symbols = sorted({dim.dim_param for one in found.graph.value_info for dim in one.type.tensor_type.shape.dim} - {""})
nodes = found.graph.node
axes = [one.i for node in nodes for one in node.attribute if one.name == "axis" and "uantizeLinear" in node.op_type]
integers = {node.output[0] for node in nodes if node.op_type == "DequantizeLinear"}
rounded = sorted({node.op_type for node in nodes for name in node.input[1:3] if name in integers})
stored = {one.name: nh.to_array(one) for one in found.graph.initializer}
scales = [float(stored[node.input[1]].min()) for node in nodes if node.op_type == "DequantizeLinear"]
kinds = sorted(str(stored[node.input[0]].dtype) for node in nodes if node.input and node.input[0] in stored)
said = {"stored": kinds, "scales": scales, "outputs": reply.meta["output_scales"],
        "unrounded": reply.meta["unrounded"], "rounded": rounded, "symbols": symbols, "axes": axes,
        "operators": sorted({node.op_type for node in nodes})}
json.dump(said, sys.stdout)
"""


def prepared(python: Path, folder: Path, kind: str, graph: str, *, every: bool = False) -> dict[str, Any]:
    """Operators, axes of quantisations and symbols of inner tensors of the prepared file, which onnx's checker took."""
    command = [str(python), "-c", SCRIPT, str(folder), kind, graph, *(["every"] if every else [])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_before_opset_13_a_weight_has_one_scale(tools_python: Path, tmp_path: Path) -> None:
    found = prepared(tools_python, tmp_path, "old", "qdq")
    assert "QuantizeLinear" in found["operators"] and found["axes"] == []


def test_an_attention_is_not_made_one_of_onnxruntime(tools_python: Path, tmp_path: Path) -> None:
    found = prepared(tools_python, tmp_path, "attention", "dynamic")
    assert "Attention" in found["operators"] and "MatMulInteger" in found["operators"]


def test_inner_tensors_are_declared_without_the_symbols_of_inputs(tools_python: Path, tmp_path: Path) -> None:
    found = prepared(tools_python, tmp_path, "symbolic", "qdq")
    assert "QuantizeLinear" in found["operators"] and found["symbols"] == []


def test_a_transposed_convolution_of_groups_has_one_scale(tools_python: Path, tmp_path: Path) -> None:
    found = prepared(tools_python, tmp_path, "groups", "qdq")
    assert "ConvTranspose" in found["operators"] and found["axes"] == [0], "that of Conv alone"


def test_weights_of_every_contraction_are_rounded_where_that_is_asked_for(tools_python: Path, tmp_path: Path) -> None:
    found = prepared(tools_python, tmp_path, "recurrent", "weights", every=True)
    assert found["rounded"] == ["LSTM", "MatMul"] and found["unrounded"] == []
    assert prepared(tools_python, tmp_path, "groups", "weights", every=True)["rounded"] == ["Conv", "ConvTranspose"]


def test_a_prepared_file_says_which_recurrent_layers_it_leaves_in_floating_point(
    tools_python: Path, tmp_path: Path
) -> None:
    for graph in ("weights", "qdq"):
        found = prepared(tools_python, tmp_path, "recurrent", graph)
        assert found["rounded"] == ["MatMul"] and found["unrounded"] == ["LSTM"], graph


def test_a_file_that_is_quantised_already_stays_as_it_is(tools_python: Path, tmp_path: Path) -> None:
    found = prepared(tools_python, tmp_path, "quantised", "weights", every=True)
    assert found["operators"] == ["DequantizeLinear", "QuantizeLinear", "Relu"]


@pytest.mark.parametrize("graph", ["weights", "qdq"])
def test_what_only_branches_read_stays_in_the_file(tools_python: Path, tmp_path: Path, graph: str) -> None:
    found = prepared(tools_python, tmp_path, "branches", graph)
    assert "If" in found["operators"] and "DequantizeLinear" in found["operators"]


@pytest.mark.parametrize(("kind", "stored"), [("number", ["int32", "int8"]), ("nothing", ["int8"])])
def test_biases_of_a_gemm_that_the_quantiser_cannot_take(
    tools_python: Path, tmp_path: Path, kind: str, stored: list[str]
) -> None:
    """A single number is repeated, and one that beta multiplies by 0 is left out: its scale would be 0."""
    found = prepared(tools_python, tmp_path, kind, "qdq")
    assert found["stored"] == stored and min(found["scales"]) > 0


def test_weights_of_a_float16_file_are_stored_as_integers(tools_python: Path, tmp_path: Path) -> None:
    """Without that the quantiser rounds them at run time; and the step of an output stands in front of its Cast."""
    found = prepared(tools_python, tmp_path, "half", "qdq")
    assert found["stored"] == ["int32", "int8"] and "Cast" in found["operators"]
    assert found["outputs"] == [pytest.approx(found["scales"][-1])]
    assert "MatMulInteger" in prepared(tools_python, tmp_path, "half", "dynamic")["operators"]
