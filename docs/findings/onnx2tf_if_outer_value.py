"""onnx2tf 1.29.24: a branch of an If that takes a value of the graph around it is not converted: KeyError.

Rule: ONNX IR specification, section Names Within a Graph: a subgraph may use the names of the graphs around it.
A value that only a branch reads is not computed. So fails torchvision's Faster R-CNN as TorchScript exports it.
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
<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) <float zero = {0.0}> {
    outer = Neg(x)
    most = ReduceMax <keepdims = 0> (x)
    positive = Greater(most, zero)
    y = If (positive) <
        then_branch = one () => (float[2] a) { a = Exp(outer) },
        else_branch = other () => (float[2] b) { b = Identity(x) }
    >
}
""")
x = np.array([1, 2], np.float32)
onnx.checker.check_model(model)
onnx.save(model, "m.onnx")
print("expected", np.exp(-x).tolist())
try:
    net = onnx2tf.convert(
        input_onnx_file_path="m.onnx", output_folder_path="out", non_verbose=True, disable_model_save=True,
        keep_shape_absolutely_input_names=["x"],
    )  # fmt: skip
    y = np.asarray(net(x))
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    print("got     ", type(error).__name__, " ".join(str(error).split())[:160])
    sys.exit(1)
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, np.exp(-x))))
