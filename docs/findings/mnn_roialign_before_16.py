"""MNN 3.6.1: RoiAlign before opset 16 is shifted by half a pixel.

Rule: ONNX RoiAlign 16: half_pixel shifts the coordinates by -0.5; output_half_pixel omits the shift, "for a
backward-compatible behavior", so RoiAlign 10, which has no such attribute, has no shift. The importer takes the default
of opset 16, half_pixel, for both.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import MNN.expr as expressions
import MNN.nn as nn
import numpy as np
import onnx
from onnx import helper as h

os.chdir(tempfile.mkdtemp())

ramp = np.tile(np.arange(4, dtype=np.float32), (4, 1))[None, None]  # the value of a pixel is its column
inputs = {"x": ramp, "rois": np.array([[0, 0, 2, 2]], np.float32), "images": np.array([0], np.int64)}
expected = np.array([[[[1]]]], np.float32)  # of one sample in the middle of the box, at column 1
ports = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in inputs.items()]
node = h.make_node("RoiAlign", list(inputs), ["y"], output_height=1, output_width=1, sampling_ratio=1)
graph = h.make_graph(
    [node], "g", ports, [h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(expected.dtype), expected.shape)]
)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 10)], ir_version=5), "m.onnx")
_tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
module = nn.load_module_from_file("m.mnn", list(inputs), ["y"])
given = []
for x in inputs.values():
    kind = expressions.float if x.dtype == np.float32 else expressions.int
    given.append(expressions.placeholder(list(x.shape), expressions.NCHW, kind))
    given[-1].write(x.astype(np.float32 if x.dtype == np.float32 else np.int32))
found = module.forward(given)
y = found[0] if isinstance(found, (list, tuple)) else found
y = expressions.convert(y, expressions.NCHW).read()
print("expected", expected.shape, expected.ravel().tolist())
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
