"""onnx 1.23.2, reference evaluator: RoiAlign before opset 16 is shifted by half a pixel.

Rule: ONNX RoiAlign 16: half_pixel shifts the coordinates by -0.5; output_half_pixel omits the shift, "for a
backward-compatible behavior", so RoiAlign 10, which has no such attribute, has no shift. The evaluator takes the
default of opset 16, half_pixel, for both. The evaluator is what other tools are compared with.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
from onnx import TensorProto
from onnx import helper as h
from onnx.reference import ReferenceEvaluator

ramp = np.tile(np.arange(4, dtype=np.float32), (4, 1))[None, None]  # the value of a pixel is its column
inputs = {"x": ramp, "rois": np.array([[0, 0, 2, 2]], np.float32), "images": np.array([0], np.int64)}
expected = np.array([1], np.float32)  # of one sample in the middle of the box, at column 1
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()]
node = h.make_node("RoiAlign", list(inputs), ["y"], output_height=1, output_width=1, sampling_ratio=1)
graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", TensorProto.FLOAT, None)])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 10)], ir_version=5)
y = np.asarray(ReferenceEvaluator(model).run(None, inputs)[0])
print("expected", expected.ravel().tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(y.size != expected.size or not np.allclose(y.ravel(), expected)))
