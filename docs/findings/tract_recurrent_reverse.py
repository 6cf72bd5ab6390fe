"""tract 0.23.9: RNN, GRU and LSTM with direction="reverse" compute forward.

Rule: ONNX RNN 7, 14 and 22, attribute direction: reverse reads the sequence from its end, and Y keeps its order.
With x = [1, 0] and weights of 1 the last step is tanh(0) = 0; going forward it is tanh(tanh(1)).
The same holds for GRU and LSTM (test_gru_reverse, test_lstm_reverse), and for a user it is silent.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

os.chdir(tempfile.mkdtemp())

TEXT = """<ir_version: 8, opset_import: ["": 14]>
g (float[2,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[2,1,1,1] y)
{ y = RNN<hidden_size = 1, direction = "reverse">(x, w, r) }"""
inputs = [np.array(v, np.float32).reshape(-1, 1, 1) for v in ([1, 0], 1, 1)]
expected = np.array([np.tanh(1), 0]).reshape(2, 1, 1, 1)
onnx.save(onnx.parser.parse_model(TEXT), "m.onnx")
print("expected", expected.shape, expected.ravel().tolist())
try:
    model = tract.onnx().load("m.onnx")
    y = model.into_model().into_runnable().run([*inputs])[0].to_numpy()
except tract.TractError as error:
    lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
    print("got      an error:", lines[-1])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, atol=1e-5)))
