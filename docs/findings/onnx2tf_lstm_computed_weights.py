"""onnx2tf 1.29.24: an LSTM whose weights are computed is not built (a Keras tensor inside an RNN).

Rule: ONNX LSTM 7, 14 and 22: W and R are inputs, which may be computed. mx2onnx cuts them out of one vector, by sizes
that it takes from a shape. Message: "You are passing KerasTensor(...) to a TF API that does not allow registering".
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
TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[1,1,1] x) => (float[1,1,1,1] y)
<float[1,4,1] w = {1, 1, 1, 1}, float[1,4,1] r0 = {1, 1, 1, 1}, float[1,8] b = {0, 0, 0, 0, 0, 0, 0, 0},
 float[1,1,1] h = {0}> {
    one = ReduceMax(x)
    r = Mul(r0, one)
    y = LSTM<hidden_size = 1>(x, w, r, b, "", h, h) }"""
x = np.ones((1, 1, 1), np.float32)
gate = 1 / (1 + np.exp(-1))
expected = np.full((1, 1, 1, 1), gate * np.tanh(gate * np.tanh(1)), np.float32)
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
