"""Files that onnxruntime's converter made compute in float16 are valid, or it is said that they are not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Max and Min stay in float32, and so one tensor is cast to it for each of them.
SCRIPT = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import Place, PrepareCall

broken = sys.argv[1] == "broken"
nodes = [h.make_node("Relu", ["x"], ["d"]), h.make_node("Max", ["d", "half"], ["a"]),
         h.make_node("Min", ["d", "half"], ["b"]), h.make_node("Add", ["a", "b"], ["y"])]
value = lambda name: h.make_tensor_value_info(name, 1, [1, 4])
graph = h.make_graph(nodes, "g", [value("x")], [value("y")], [nh.from_array(np.float32(0.5), "half")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
if broken:
    onnx_graphs._without_repeats = lambda model: None
place = Place(".", {"model.onnx": "m.onnx"}, {}, lambda stage: None)
try:
    made = onnx_graphs.Adapter().prepare(PrepareCall(graph="fp16", batched=False).at(place)).files["model.onnx"]
except Unsupported as error:
    print(error)
else:
    onnx.checker.check_model(onnx.load(made), full_check=True)
    kinds = [node.op_type for node in onnx.load(made).graph.node]
    print("valid", kinds.count("Max"), kinds.count("Min"))
"""


@pytest.mark.parametrize(
    ("kind", "said"),
    [("whole", "valid 1 1"), ("broken", "onnxruntime's converter to float16 makes an invalid file: Graph must be in ")],
)
def test_a_tensor_that_two_nodes_take_in_float32_is_cast_once(
    tools_python: Path, tmp_path: Path, kind: str, said: str
) -> None:
    command = [str(tools_python), "-c", SCRIPT, kind]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.stdout.splitlines()[-1].startswith(said), done.stdout + done.stderr


# The weights are listed as numbers, as mx2onnx writes them, and not as bytes.
LISTED = """
import onnx
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.contract import Place, PrepareCall

ports = [h.make_tensor_value_info(name, 1, [1, 2]) for name in ("x", "y")]
weight = h.make_tensor("w", 1, [2, 2], [1.5, 2.25, -3.0, 0.1])
graph = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", ports[:1], ports[1:], [weight])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "m.onnx")
place = Place(".", {"model.onnx": "m.onnx"}, {}, lambda stage: None)
made = onnx_graphs.Adapter().prepare(PrepareCall(graph="fp16", batched=False).at(place)).files["model.onnx"]
[tensor] = onnx.load(made).graph.initializer
print(nh.to_array(tensor).dtype, nh.to_array(tensor).tolist(), tensor.HasField("raw_data"), len(tensor.int32_data))
"""


def test_weights_that_were_listed_as_numbers_are_bytes(tools_python: Path, tmp_path: Path) -> None:
    command = [str(tools_python), "-c", LISTED]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment)
    said = "float16 [[1.5, 2.25], [-3.0, 0.0999755859375]] True 0\n"
    assert done.stdout == said, done.stdout + done.stderr


# Sizes that float16 does not hold: 9 * 1.333 are 11 elements and not 12, and 4098 is 4096 or 4100.
SIZES = """
import sys
import numpy as np, onnx, onnxruntime
from onnx import helper as h, numpy_helper as nh
from bench_plugin.adapters.onnx_tools import onnx_graphs
from bench_plugin.agent.contract import Place, PrepareCall

kind = sys.argv[1]
scales = nh.from_array(np.array([1, 1, 4 / 3], "float32"), "scales")
resized = h.make_node("Resize", ["d", "", "scales"], ["r"], mode="nearest")
nodes, weights, declared, opset, size = [], [scales], [], 17, 9
if kind == "node":
    nodes, weights = [h.make_node("Constant", [], ["scales"], value=scales)], []
elif kind == "shared weight":
    nodes = [h.make_node("Mul", ["x", "scales"], ["unused"])]
    size = 3
elif kind == "declared weight":
    declared = [h.make_tensor_value_info("scales", 1, [3])]
elif kind == "shared node":
    nodes = [h.make_node("Constant", [], ["scales"], value=scales),
             h.make_node("ReduceSum", ["scales"], ["sum"], keepdims=0),
             h.make_node("Range", ["sum", "sum", "sum"], ["none"])]
    weights = []
elif kind == "older":
    opset, resized = 10, h.make_node("Resize", ["d", "scales"], ["r"], mode="nearest")
elif kind == "computed scales":
    parts = {"ones": [1, 1], "s": [4 / 3]}
    weights = [nh.from_array(np.array(values, "float32"), name) for name, values in parts.items()]
    nodes = [h.make_node("Concat", ["ones", "s"], ["scales"], axis=0)]
elif kind == "computed sizes":
    weights = [nh.from_array(np.array([1, 1, 2], "float32"), "twice")]
    nodes = [h.make_node("Shape", ["d"], ["shape"]), h.make_node("Cast", ["shape"], ["f"], to=1),
             h.make_node("Mul", ["f", "twice"], ["g"]), h.make_node("Cast", ["g"], ["sizes"], to=7)]
    resized = h.make_node("Resize", ["d", "", "", "sizes"], ["r"], mode="nearest")
    size = 2049
elif kind == "region":
    region = np.array([0, 0, 0, 1, 1, 0.3001], "float32")
    weights = [nh.from_array(region, "roi"), nh.from_array(np.array([1, 1, 10], "float32"), "scales")]
    resized = h.make_node("Resize", ["d", "roi", "scales"], ["r"], mode="linear",
                          coordinate_transformation_mode="tf_crop_and_resize")
if kind == "shared node":
    nodes.append(h.make_node("Mul", ["r", "sum"], ["t"]))
else:
    nodes.append(h.make_node("Relu", ["r"], ["t"]))
nodes = [h.make_node("Sqrt", ["x"], ["d"]), *nodes]
nodes.insert(-1, resized)
nodes.append(h.make_node("Neg", ["t"], ["y"]))
value = lambda name, *shape: h.make_tensor_value_info(name, 1, shape)
graph = h.make_graph(nodes, "g", [value("x", 1, 1, size)], [value("y", 1, 1, "n")], weights, value_info=declared)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8), "m.onnx")
place = Place(".", {"model.onnx": "m.onnx"}, {}, lambda stage: None)
made = onnx_graphs.Adapter().prepare(PrepareCall(graph="fp16", batched=False).at(place)).files["model.onnx"]
onnx.checker.check_model(onnx.load(made), full_check=True)
x = np.ones((1, 1, size), "float32")
session = lambda path: onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
runs = [session(path).run(None, {"x": x})[0] for path in ("m.onnx", made)]
inferred = onnx.shape_inference.infer_shapes(onnx.load(made)).graph
types = {row.name: row.type.tensor_type.elem_type for row in inferred.value_info}
types |= {row.name: row.data_type for row in inferred.initializer}
taken = {node.op_type: [types.get(name) for name in node.input] for node in inferred.node}
print(*(run.shape[2] for run in runs), taken["Neg"], taken["Resize"], bool(abs(runs[0] - runs[1]).max() < 0.01))
"""


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("node", 12), ("shared weight", 4), ("declared weight", 12), ("shared node", 12), ("older", 12),
        ("computed scales", 12), ("computed sizes", 4098), ("region", 90),
    ],
)  # fmt: skip
def test_what_decides_a_size_is_not_rounded_to_float16(
    tools_python: Path, tmp_path: Path, kind: str, size: int
) -> None:
    command = [str(tools_python), "-c", SIZES, kind]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}
    )
    half, single, integers = 10, 1, 7
    given = {"older": [single], "computed sizes": [None, None, integers], "region": [single, single]}
    taken = [half, *given.get(kind, [None, single])]
    assert done.stdout.splitlines()[-1:] == [f"{size} {size} [{half}] {taken} True"], done.stdout + done.stderr
