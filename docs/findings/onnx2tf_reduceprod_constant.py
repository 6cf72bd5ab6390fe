"""onnx2tf 1.29.24: a ReduceProd whose result depends on no input is not converted: ValueError.

Rule: ReduceProd 13 takes any tensor; that of the shape of a Range of constants is 1. onnx2tf makes a Keras model of the
result, which is a number of numpy. Where onnxsim simplifies the file before, it is a constant; of MXNet's Faster R-CNN
onnxsim gives no result.
Upstream: none known.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy. Ends with 1 while it shows.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf
from onnx import parser

os.chdir(tempfile.mkdtemp())
model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 13]> g (float[n,2] x) => (float[n,2] y)
<float zero = {0.0}, float stop = {1.0}, int64[1] rest = {-1}, int64[1] two = {2}, int64[1] one = {1}> {
    a = Range(zero, stop, stop)
    size = Shape(a)
    product = ReduceProd <keepdims = 1> (size)
    shape = Concat <axis = 0> (rest, product, two)
    z = Reshape(x, shape)
    y = Squeeze(z, one)
}
""")
x = np.ones((2, 2), np.float32)
onnx.checker.check_model(model)
onnx.save(model, "m.onnx")
print("expected", x.tolist())
try:
    net = onnx2tf.convert(
        input_onnx_file_path="m.onnx", output_folder_path="out", non_verbose=True, disable_model_save=True,
        keep_shape_absolutely_input_names=["x"], not_use_onnxsim=True,
    )  # fmt: skip
    y = np.asarray(net(x))
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    print("got     ", type(error).__name__, " ".join(str(error).split())[:160])
    sys.exit(1)
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, x)))
