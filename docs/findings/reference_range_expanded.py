"""onnx 1.23.2, reference evaluator: Loop joins scan outputs with numpy.vstack, which makes two scalars [2, 1].

Rule: ONNX Loop 16: 'scan_output variables are used to implicitly concatenate values computed across all the iterations'.
The type that onnx infers for scalars has one dimension, and four of onnx's own cases (Range, written out) want that.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import TensorProto
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

scalar = lambda name, kind: h.make_tensor_value_info(name, kind, [])  # noqa: E731
nodes = [
    h.make_node("Identity", ["go"], ["on"]),
    h.make_node("Add", ["state", "state"], ["twice"]),
    h.make_node("Identity", ["state"], ["seen"]),
]
body = h.make_graph(
    nodes,
    "body",
    [scalar("n", TensorProto.INT64), scalar("go", TensorProto.BOOL), scalar("state", TensorProto.FLOAT)],
    [scalar("on", TensorProto.BOOL), scalar("twice", TensorProto.FLOAT), scalar("seen", TensorProto.FLOAT)],
)
loop = h.make_node("Loop", ["trips", "keep", "start"], ["last", "y"], body=body)
graph = h.make_graph(
    [loop],
    "g",
    [scalar("trips", TensorProto.INT64), scalar("keep", TensorProto.BOOL), scalar("start", TensorProto.FLOAT)],
    [h.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 16)], ir_version=8)
y = ReferenceEvaluator(model).run(
    None, {"trips": np.array(2), "keep": np.array(True), "start": np.array(1, np.float32)}
)[0]
print("expected (2,) [1.0, 2.0]")
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != (2,)))
