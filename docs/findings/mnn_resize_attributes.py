"""MNN 3.6.1: Resize ignores seven of its attributes, or values of them, and interpolates without them.

Rule: ONNX Resize 19: antialias, axes, cubic_coeff_a, exclude_outside, keep_aspect_ratio_policy, nearest_mode and
coordinate_transformation_mode each change what comes out. Of nearest_mode it knows floor and round_prefer_floor, of
coordinate_transformation_mode not half_pixel_symmetric.
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

x = np.array([[[[1, 2, 4, 7]] * 2]], np.float32)  # two equal rows
half, twice = np.float32([1, 1, 1, 0.5]), np.float32([1, 1, 1, 2])
place = "coordinate_transformation_mode"
# attributes, scales (float32) or sizes (int64), the shape of the output, the last values of its rows
TABLE = [
    ({"mode": "linear", "antialias": 1}, half, (1, 1, 2, 2), [1.75, 5.25]),
    ({"mode": "cubic", "antialias": 1}, half, (1, 1, 2, 2), [1.41015625, 5.44921875]),
    ({"mode": "nearest", "axes": [2, 3]}, np.float32([2, 3]), (1, 1, 4, 12), [4, 7, 7, 7]),
    ({"mode": "nearest", "axes": [3, 2]}, np.int64([8, 2]), (1, 1, 2, 8), [4, 4, 7, 7]),
    ({"mode": "cubic", "cubic_coeff_a": -0.5}, twice, (1, 1, 2, 8), [3.40625, 4.75, 6.4375, 7.2109375]),
    ({"mode": "cubic", "exclude_outside": 1}, twice, (1, 1, 2, 8), [4.9622641, 6.4487634, 7.4090909]),
    ({"mode": "nearest", "keep_aspect_ratio_policy": "not_larger"}, np.int64([1, 1, 4, 4]), (1, 1, 2, 4), [1, 2, 4, 7]),
    ({"mode": "nearest", "nearest_mode": "ceil"}, twice, (1, 1, 2, 8), [4, 7, 7, 7]),
    ({"mode": "nearest", "nearest_mode": "round_prefer_ceil"}, half, (1, 1, 2, 2), [2, 7]),
    ({"mode": "linear", place: "half_pixel_symmetric"}, np.float32([1, 1, 1, 0.6]), (1, 1, 2, 2), [5 / 3, 5]),
]
wrong = 0
for attributes, given, shape, row in TABLE:
    names = ["x", "", "given"] if given.dtype == np.float32 else ["x", "", "", "given"]
    ports = [h.make_tensor_value_info(name, 1, size) for name, size in (("x", x.shape), ("y", shape))]
    nodes = [h.make_node("Resize", names, ["y"], **attributes)]
    graph = h.make_graph(nodes, "g", ports[:1], ports[1:], [onnx.numpy_helper.from_array(given, "given")])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    variable = expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float)
    variable.write(x)
    found = nn.load_module_from_file("m.mnn", ["x"], ["y"]).forward([variable])
    y = expressions.convert(found[0] if isinstance(found, (list, tuple)) else found, expressions.NCHW).read()
    if y.shape != shape or not np.allclose(y[..., -len(row) :], row):
        wrong = 1
        print("expected", attributes, shape, row)
        print("got     ", attributes, y.shape, y[0, 0, 0, -len(row) :].tolist())
sys.exit(wrong)
