"""onnx 1.23.2, reference evaluator: LRN counts the channels by the size of the batch.

Rule: ONNX LRN 13: square_sum[n, c, d1, ..., dk] is summed for every channel c.
The loop runs over x.shape[0]: with one image only channel 0 is normalised, and with more images than channels it raises.
Upstream: https://github.com/onnx/onnx/issues/7805
The evaluator is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import TensorProto
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

inputs = {"x": np.ones((1, 3, 1, 1), np.float32)}
expected = 1 / (1 + np.array([2, 3, 2], np.float32)).reshape(1, 3, 1, 1)
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("LRN", ["x"], ["y"], size=3, alpha=3.0, beta=1.0, bias=1.0)
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", TensorProto.FLOAT, None)])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
print("expected", expected.shape, expected.ravel().tolist())
try:
    y = np.asarray(ReferenceEvaluator(model).run(None, inputs)[0])
except Exception as error:
    print("got     ", type(error).__name__, str(error)[:120])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
