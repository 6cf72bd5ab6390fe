"""onnx2tf 1.29.24: DequantizeLinear of integers of four and two bits is refused: TensorFlow has no Cast of these to float.

Rule: ONNX DequantizeLinear 21 (int4, uint4) and 25 (int2, uint2): types of x. Here int4.
Upstream: none known.
Needs onnx2tf==1.29.24, tensorflow-cpu==2.21.0, onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import contextlib
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf

os.chdir(tempfile.mkdtemp())
TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (float[1,4] x) => (float[1,2] y)
<int4[4,2] q = {1, 1, 1, 1, 1, 1, 1, 1}, float s = {1}> {
    w = DequantizeLinear(q, s)
    y = MatMul(x, w) }"""
x = np.ones((1, 4), np.float32)
expected = np.array([[4, 4]], np.float32)
model = onnx.parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
print("expected", expected.shape, expected.ravel()[:8].tolist())
try:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # onnx2tf's log
        net = onnx2tf.convert(
            input_onnx_file_path="m.onnx",
            output_folder_path="out",
            non_verbose=True,
            disable_model_save=True,
            keep_shape_absolutely_input_names=["x"],
        )
        y = np.asarray(net([x]))
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    print("got     ", type(error).__name__, " ".join(str(error).split())[:200])
    sys.exit(1)
print("got     ", y.shape, y.ravel()[:8].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, atol=1e-5)))
