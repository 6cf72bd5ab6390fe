"""OpenVINO 2026.4.1: Expand of a scalar to the shape [] gives a tensor of shape [1].

Rule: ONNX Expand 13: "the shape you want to expand to, following the broadcast rule"; a scalar that is broadcast to no
dimensions is a scalar, as numpy.array(input) * numpy.ones(shape) is.
float32, int64 and bool are the same.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import numpy_helper


def run(text, *inputs, **constants):
    """What OpenVINO gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
    onnx.checker.check_model(model, full_check=True)
    core = ov.Core()
    read = core.read_model(model.SerializeToString())
    return core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([*inputs])[0]


y = run("g (float x) => (float y) { y = Expand(x, shape) }", np.float32(3), shape=np.zeros(0, np.int64))
print("expected", (), 3.0)
print("got     ", y.shape, y.tolist())
sys.exit(int(y.shape != ()))
