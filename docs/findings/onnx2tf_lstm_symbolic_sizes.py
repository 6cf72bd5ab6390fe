"""onnx2tf 1.29.24: an LSTM whose number of steps is symbolic takes the steps for the batch.

Rule: ONNX LSTM 7, 14 and 22, attribute layout: 0, the default, is [steps, batch, features]; onnx2tf keeps it to its RNN
where the steps are a number and the batch is symbolic (with a batch of 1 it fails otherwise). Here an initial state of
one sequence meets "a batch" of 3, its steps. Where the initial state comes out of the data, nothing is refused and the
values are wrong.
Upstream: none known; https://github.com/PINTO0309/onnx2tf/issues/198 brought LSTM (closed).
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
g (float[batch,steps,1] x) => (float[steps,1,batch,2] y)
<float[1,8,1] w = {1, 1, 1, 1, 1, 1, 1, 1}, float[1,8,2] r = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
 float[1,16] b = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, float[1,1,2] h = {0, 0}> {
    t = Transpose<perm = [1, 0, 2]>(x)
    y = LSTM<hidden_size = 2>(t, w, r, b, "", h, h) }"""
x = np.ones((1, 3, 1), np.float32)
gate, cell, steps = 1 / (1 + np.exp(-1)), 0.0, []
for _ in range(3):
    cell = gate * cell + gate * np.tanh(1)
    steps.append(gate * np.tanh(cell))
expected = np.repeat(np.array(steps, np.float32), 2).reshape(3, 1, 1, 2)
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
