"""OpenVINO 2026.4.1: RNN, GRU and LSTM ignore layout=1: the batch is read as the sequence.

Rule: ONNX RNN 14, attribute layout: "If 1, [...] X.shape = [batch_size, seq_length, input_size], Y.shape = [batch_size,
seq_length, num_directions, hidden_size]". Two batches of one step each have nothing to do with one another.
Upstream: https://github.com/openvinotoolkit/openvino/issues/37820 (open).
The cases: test_simple_rnn_batchwise, test_gru_batchwise and test_lstm_batchwise of onnx.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 14]> g (float[2,1,1] x) => (float[2,1,1,1] y)
<float[1,1,1] w = {1}, float[1,1,1] r = {1}> {
    y = RNN<hidden_size = 1, layout = 1>(x, w, r)
}
""")
inputs = {"x": np.ones((2, 1, 1), np.float32)}
expected = np.full((2, 1, 1, 1), np.tanh(1), np.float32)
onnx.checker.check_model(model, full_check=True)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
y = compiled(inputs)[0]
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, rtol=1e-5, atol=1e-6)))
