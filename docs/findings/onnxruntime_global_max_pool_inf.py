"""ONNX Runtime 1.31.1: GlobalMaxPool and MaxPool of nothing but -Inf.

Stage run, symptom mismatch: the largest of [-Inf] comes as -3.4028235e38, the lowest finite number that the search for
the maximum begins with. GlobalMaxPool 1 and MaxPool 12 take the maximum of the values ("max pooling"); max(-Inf) is -Inf,
as ReduceMax has it. Met as Log(0) -> GlobalMaxPool by the property-based search (suites/properties, dag, nightly).
Versions: onnxruntime 1.31.1, onnx 1.23.2.
"""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h

print("onnxruntime", ort.__version__)
x = np.full((1, 1, 1, 2), -np.inf, np.float32)
for name, out, more in (("GlobalMaxPool", [1, 1, 1, 1], {}), ("MaxPool", [1, 1, 1, 1], {"kernel_shape": [1, 2]}),
                        ("ReduceMax", [1, 1, 1, 1], {"axes": [2, 3]})):
    graph = h.make_graph([h.make_node(name, ["x"], ["y"], **more)], "g",
                         [h.make_tensor_value_info("x", T.FLOAT, x.shape)], [h.make_tensor_value_info("y", T.FLOAT, out)])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    y = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    print(name, "gives", y.reshape(-1).tolist(), "expected [-inf]")
