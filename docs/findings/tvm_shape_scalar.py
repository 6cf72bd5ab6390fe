"""apache-tvm 0.27.0.post1, relax.frontend.onnx: a float computed from a shape loses its type. Shape, Gather, Cast to
float32 and Pow give the Python number 0.25, which the next Mul meets as float64: "Binary operators must have the same
datatype for both operands". This is the attention scale 1/sqrt(d) that torch.onnx.export (TorchScript) writes, so a
transformer encoder cannot be imported. ONNX says that Cast's output has the type of its attribute `to`, and Pow's that of
its first input. The file passes onnx.checker with full_check. Stage compile, symptom exception. Run: python tvm_shape_scalar.py
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tvm.relax.frontend.onnx import from_onnx

nodes = [
    helper.make_node("Shape", ["x"], ["shape"]),
    helper.make_node("Gather", ["shape", "one"], ["size"], axis=0),
    helper.make_node("Cast", ["size"], ["wide"], to=TensorProto.FLOAT),
    helper.make_node("Pow", ["wide", "exponent"], ["scale"]),
    helper.make_node("Mul", ["x", "scale"], ["y"]),
]
constants = [
    numpy_helper.from_array(np.array(1, np.int64), "one"),
    numpy_helper.from_array(np.array(-0.5, np.float32), "exponent"),
]
value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 16]) for name in "xy"]
graph = helper.make_graph(nodes, "g", value[:1], value[1:], constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
print(from_onnx(model))
