"""MNN 3.6.1: a cyclic graph is converted and runs (stage compile, no symptom; invalid-model was due).

ONNX requires nodes in topological order and no cycles. y = Relu(z), z = Relu(y) has neither; mnnconvert says "Converted
Success!" and the engine returns numbers that depend on nothing. It also returns True, with exit code 0, when a
conversion failed: only the missing file tells. Needs onnx, mnn==3.6.1.
"""

import os

import _tools
import onnx
from onnx import TensorProto as T
from onnx import helper as h

value = lambda name: h.make_tensor_value_info(name, T.FLOAT, [1, 4])  # noqa: E731
for name, nodes in (("cycle", [("Relu", "z", "y"), ("Relu", "y", "z")]), ("unknown", [("NoSuchOp", "x", "y")])):
    graph = h.make_graph([h.make_node(k, [a], [b]) for k, a, b in nodes], "g", [value("x")], [value("y")])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), f"{name}.onnx")
    done = _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", f"{name}.onnx", "--MNNModel", f"{name}.mnn", "--bizCode", "b"])
    print("RESULT", name, "returned", done, "file", os.path.exists(f"{name}.mnn"))
