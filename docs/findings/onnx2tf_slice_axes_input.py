"""onnx2tf 1.29.24: Slice whose axes are an input of the graph gives an empty result, without an error.

Rule: ONNX Slice 13: an axis that is not in axes is kept whole.
onnx2tf leaves the end of every other axis at 0.
Needs onnx2tf==1.29.24 with tensorflow-cpu==2.21.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when
it is gone.
"""

import contextlib
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx.parser
import onnx2tf

os.chdir(tempfile.mkdtemp())
text = "(float[4,3] x, int64[1] s, int64[1] e, int64[1] a) => (float[A,B] y) { y = Slice(x, s, e, a) }"
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 13]> g ' + text)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
x = np.arange(12, dtype=np.float32).reshape(4, 3)
expected = x[1:3]
with contextlib.redirect_stdout(io.StringIO()):
    net = onnx2tf.convert(
        "m.onnx",
        output_folder_path="out",
        non_verbose=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=["x", "s", "e", "a"],
    )
y = np.asarray(net([x, np.array([1]), np.array([3]), np.array([0])]))
print("expected", expected.shape, expected.tolist())
print("got     ", y.shape, y.tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
