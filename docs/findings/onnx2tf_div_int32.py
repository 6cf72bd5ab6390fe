"""onnx2tf 1.29.24: Div of int32 divides in float32: 1755838164 / 90 is 19509314.

Rule: ONNX Div 14: "for integer inputs, the result is computed using truncating division", which is 19509312 here.
Unsigned integers do not even come back as integers (onnx2tf_div_unsigned.py).
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx.parser
import onnx2tf

os.chdir(tempfile.mkdtemp())
a, b = np.array([1755838164, 16777217, 9], np.int32), np.array([90, 1, 2], np.int32)
graph = "g (int32[3] a, int32[3] b) => (int32[3] y) { y = Div(a, b) }"
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
    keep_shape_absolutely_input_names=["a", "b"],
)
y = np.asarray(net([a, b]))
print("expected", (a // b).tolist())
print("got     ", y.tolist())
sys.exit(int(y.tolist() != (a // b).tolist()))
