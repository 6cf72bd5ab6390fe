"""OpenVINO 2026.4.1, CPU plugin: Tile leaves its output unwritten, what comes out is what the memory held.

ONNX Tile 13: the output is the input repeated `repeats` times along each axis, as numpy.tile does. With the repeats as
an input of the graph (a constant is right), nothing is written where the output falls into more than six runs of axes:
(2, 2, 2, 2) times [2, 2, 2, 2], (1, 2, 2, 2) times [2, 3, 4, 5]. No error, the shape is right, the values change from
call to call. Every element type that was tried (float32, int32, int8). onnx's own case test_tile shows it.
"""
import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto as T, helper as h

print("openvino", ov.__version__, "onnx", onnx.__version__)
core = ov.Core()
for shape, repeats in (((2, 3, 4, 5), (2, 2, 2, 1)), ((2, 3, 4, 5), (1, 2, 2, 2)), ((2, 2, 2, 2), (2, 2, 2, 2)), ((2, 3, 4, 5), (7, 6, 4, 2))):
    for constant in (True, False):
        ports = [h.make_tensor_value_info("x", T.FLOAT, shape)]
        ports += [] if constant else [h.make_tensor_value_info("r", T.INT64, [len(shape)])]
        inits = [h.make_tensor("r", T.INT64, [len(shape)], repeats)] if constant else []
        graph = h.make_graph([h.make_node("Tile", ["x", "r"], ["y"])], "g", ports, [h.make_tensor_value_info("y", T.FLOAT, [a * b for a, b in zip(shape, repeats)])], inits)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        x = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
        given = {"x": x} if constant else {"x": x, "r": np.array(repeats, np.int64)}
        compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        y = compiled(given)[0]
        wrong = int((y != np.tile(x, repeats)).sum())
        print(shape, repeats, "constant" if constant else "input", f"{wrong} of {y.size} wrong, begins {y.reshape(-1)[:4]}", "<-- differs" if wrong else "")
