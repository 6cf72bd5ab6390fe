"""onnx2tf 1.29.24: a Conv whose kernel comes out of a DequantizeLinear with a scale for each channel has a wrong result.

Rule: ONNX DequantizeLinear 13: with axis 0 each output channel has the scale of its own.
With one scale for the whole kernel the result is right.
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
from onnx import numpy_helper

TEXT = """<ir_version: 8, opset_import: ["": 17]> g (float[1,4,6,6] x) => (float[1,8,6,6] y)
{ k = DequantizeLinear<axis=0>(w, s) y = Conv<kernel_shape=[1, 1]>(x, k) }"""
draw = np.random.default_rng(0)
w = draw.integers(-127, 128, (8, 4, 1, 1)).astype(np.int8)
s = draw.uniform(0.001, 0.02, 8).astype(np.float32)
x = draw.normal(size=(1, 4, 6, 6)).astype(np.float32)
model = onnx.parser.parse_model(TEXT)
model.graph.initializer.extend([numpy_helper.from_array(w, "w"), numpy_helper.from_array(s, "s")])
onnx.checker.check_model(model, full_check=True)
with tempfile.TemporaryDirectory() as folder:
    onnx.save(model, f"{folder}/m.onnx")
    onnx2tf.convert(input_onnx_file_path=f"{folder}/m.onnx", output_folder_path=folder, non_verbose=True)
    interpreter = Interpreter(glob.glob(f"{folder}/*float32.tflite")[0])
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x.transpose(0, 2, 3, 1))
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).transpose(0, 3, 1, 2)
expected = np.einsum("oc,nchw->nohw", (w * s.reshape(8, 1, 1, 1))[:, :, 0, 0], x)
print("expected", expected[0, :4, 0, 0].tolist())
print("got     ", found[0, :4, 0, 0].tolist())
sys.exit(int(abs(found - expected).max() > 1e-4))
