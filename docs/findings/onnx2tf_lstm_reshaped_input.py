"""onnx2tf 1.29.24: an LSTM of a Reshape to a computed shape is not built: numbers and tensors are mixed in a sequence.

Rule: ONNX Reshape 14, its shape may be computed: here of two parts of a shape and a constant. PyTorch's dynamo exporter
writes a second layer of an LSTM so. Without the LSTM the Reshape is converted, without the Reshape the LSTM.
Message: "Can't convert Python sequence with mixed types to Tensor".
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
g (float[steps,batch,1,1] x) => (float[steps,1,batch,2] y)
<float[1,8,1] w = {1, 1, 1, 1, 1, 1, 1, 1}, float[1,8,2] r = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
 float[1,16] b = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, float h = {0}, int64[1] i0 = {0},
 int64[1] i1 = {1}, int64[1] i2 = {2}> {
    shape = Shape(x)
    steps = Slice(shape, i0, i1)
    batch = Slice(shape, i1, i2)
    flat = Concat<axis = 0>(steps, batch, i1)
    t = Reshape(x, flat)
    size = Concat<axis = 0>(i1, batch, i2)
    state = Expand(h, size)
    y = LSTM<hidden_size = 2>(t, w, r, b, "", state, state) }"""
x = np.ones((1, 3, 1, 1), np.float32)
gate = 1 / (1 + np.exp(-1))
expected = np.full((1, 1, 3, 2), gate * np.tanh(gate * np.tanh(1)), np.float32)
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
