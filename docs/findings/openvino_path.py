"""OpenVINO 2026.4.1, ONNX frontend: the same bytes are another model when they come from a file.

core.read_model(bytes) and core.read_model(path) import differently. (1) NegativeLogLikelihoodLoss with ignore_index,
and Bernoulli with a seed, are read from bytes; from a path they end with "get_attribute is not implemented for this
FrontEnd class". 26 of onnx's cases. (2) An input that becomes an output as it is (Max of one tensor, Dropout that is not
training) loses its name: after Max and from a path the compiled model knows the input as "y" only, after Dropout from
either; calling it by the name of the ONNX file raises, and who looks up names and finds none reads memory that nobody
wrote. ONNX: the names of a graph's inputs are its interface.
"""
import os
import tempfile

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto as T, helper as h

core = ov.Core()
print("openvino", ov.__version__, "onnx", onnx.__version__)


def show(title, node, inputs, given, opset):
    graph = h.make_graph([node], "g", inputs, [h.make_tensor_value_info("y", T.FLOAT, None)])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    onnx.save(model, path)
    for name, source in (("bytes", model.SerializeToString()), ("path", path)):
        try:
            compiled = core.compile_model(core.read_model(source), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
            print(title, name, "inputs are called", [sorted(port.get_names()) for port in compiled.inputs], end=" ")
            print("gives", compiled(given)[0].tolist())
        except RuntimeError as error:
            lines = [line for line in str(error).splitlines() if "not implemented" in line or "not found" in line]
            print(title, name, "<--", (lines or [str(error)])[0])


x = h.make_tensor_value_info("x", T.FLOAT, [3])
given = {"x": np.array([3, 2, 1], np.float32)}
show("Max", h.make_node("Max", ["x"], ["y"]), [x], given, 13)
show("Dropout", h.make_node("Dropout", ["x"], ["y"]), [x], given, 13)
loss = h.make_node("NegativeLogLikelihoodLoss", ["p", "t"], ["y"], reduction="mean", ignore_index=1)
ports = [h.make_tensor_value_info("p", T.FLOAT, [2, 3]), h.make_tensor_value_info("t", T.INT64, [2])]
show("NegativeLogLikelihoodLoss", loss, ports, {"p": np.ones((2, 3), np.float32), "t": np.array([0, 1], np.int64)}, 13)
