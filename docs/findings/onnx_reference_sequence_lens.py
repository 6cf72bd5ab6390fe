"""onnx 1.23.2, reference evaluator: RNN, GRU and LSTM ignore sequence_lens.

Rule: ONNX RNN, GRU and LSTM 14: sequence_lens specifies the lengths of the sequences in a batch.
The input is taken and never read, as are the attributes activations, clip and input_forget of GRU and LSTM.
The evaluator is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import TensorProto
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

inputs = {"x": np.ones((3, 1, 1), np.float32), "w": np.ones((1, 1, 1), np.float32)}
inputs |= {"r": np.ones((1, 1, 1), np.float32), "lens": np.array([1], np.int32)}
expected = np.tanh(np.ones((1, 1, 1), np.float32))  # the state after the one step that the sequence has
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("RNN", ["x", "w", "r", "", "lens"], ["", "y"], hidden_size=1)
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", TensorProto.FLOAT, None)])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
y = np.asarray(ReferenceEvaluator(model).run(None, inputs)[0])
print("expected", expected.ravel().tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
