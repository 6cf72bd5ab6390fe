"""onnx 1.23.2, reference evaluator: a depthwise ConvTranspose adds the first bias to every channel.

Rule: ONNX ConvTranspose 11: B is the 'optional 1D bias to be added to the convolution, has size of M', one for each of the
M output channels. The evaluator calls itself for each group, with the whole B, and takes its first elements each time.
With several channels per group it raises. The evaluator is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import TensorProto
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

inputs = {"x": np.zeros((1, 2, 1, 1)), "w": np.zeros((2, 1, 1, 1)), "b": np.array([1, 2])}
inputs = {name: value.astype(np.float32) for name, value in inputs.items()}
expected = np.array([1, 2], np.float32)  # of an input of zeros: the biases
ports = [h.make_tensor_value_info(k, TensorProto.FLOAT, v.shape) for k, v in inputs.items()]
node = h.make_node("ConvTranspose", list(inputs), ["y"], group=2)
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", TensorProto.FLOAT, None)])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
y = np.asarray(ReferenceEvaluator(model).run(None, inputs)[0])
print("expected", expected.ravel().tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(y.size != expected.size or not np.allclose(y.ravel(), expected)))
