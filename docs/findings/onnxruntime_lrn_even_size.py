"""ONNX Runtime 1.31.1: LRN with an even `size` is refused when the session is made.

Stage compile; symptom: exception "lrn.h:23 ... size_ % 2 == 1 was false". The specification (LRN 13) asks for an int,
"the number of channels to sum over", and writes the window as max(0, c - floor((size - 1) / 2)) <= i <=
min(C - 1, c + ceil((size - 1) / 2)): floor and ceil differ only for even sizes, so these are meant.
Versions: onnxruntime 1.31.1, onnx 1.23.2.
"""
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h

graph = h.make_graph([h.make_node("LRN", ["x"], ["y"], size=2)], "g", [h.make_tensor_value_info("x", T.FLOAT, [1, 2, 1, 1])],
                     [h.make_tensor_value_info("y", T.FLOAT, [1, 2, 1, 1])])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
try:
    ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    print("taken")
except Exception as error:
    print(ort.__version__, type(error).__name__, error)
