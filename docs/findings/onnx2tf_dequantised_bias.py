"""onnx2tf 1.29.24: the bias of a Gemm that comes out of a DequantizeLinear is permuted as if it were an image.

Rule: ONNX Gemm 13: Y = A B + C, where C of shape (N) is added to every row.
The first element stays, the last two move to the front: C[[0, 2, 3, 1]] of four.
Upstream: none known.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import glob
import sys
import tempfile

import numpy as np
import onnx
import onnx2tf
from ai_edge_litert.interpreter import Interpreter
from onnx import helper as h
from onnx import numpy_helper

draw = np.random.default_rng(0)
known = {
    "w": draw.normal(size=(6, 4)).astype("float32"), "b": draw.integers(-900, 900, 4).astype("int32"),
    "bs": np.float32(0.001),
}  # fmt: skip
nodes = [h.make_node("DequantizeLinear", ["b", "bs"], ["c"]), h.make_node("Gemm", ["x", "w", "c"], ["y"])]
ports = [h.make_tensor_value_info("x", 1, [1, 6]), h.make_tensor_value_info("y", 1, [1, 4])]
tensors = [numpy_helper.from_array(np.asarray(values), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
x = draw.normal(size=(1, 6)).astype("float32")
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/m.onnx")
    onnx2tf.convert(input_onnx_file_path=f"{folder}/m.onnx", output_folder_path=folder, non_verbose=True)
    interpreter = Interpreter(glob.glob(f"{folder}/*float32.tflite")[0])
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
expected = x @ known["w"] + known["b"] * known["bs"]
print("expected", expected.ravel().tolist())
print("got     ", found.ravel().tolist())
sys.exit(int(abs(found - expected).max() > 1e-5))
