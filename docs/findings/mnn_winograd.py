"""MNN 3.6.1 (arguable): a convolution of 3 by 3 loses three digits, for it is computed by Winograd's algorithm.

Rule: none states a bound; ONNX Conv 11 is a sum of products, here of 576. Summed one by one in float32 its error is
below 1e-6 of the largest value. So is MNN's for a kernel of 5 by 1 and 575 products, which it computes otherwise; of
16 channels in the place of 64 the error is 2e-6.
Upstream: none known.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the error is above 1e-5, with 0 when it is not.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import MNN.expr as expressions
import MNN.nn as nn
import numpy as np
import onnx

os.chdir(tempfile.mkdtemp())
TEXT = '<ir_version: 8, opset_import: ["": 11]> g (float[1,%d,28,28] x) => (float[1,64,h,w] y) { y = Conv(x, k) }'


def error(channels, *kernel):
    """The largest error of a convolution, as a part of its largest value."""
    random = np.random.default_rng(0)
    x = random.random((1, channels, 28, 28), np.float32)
    weights = random.standard_normal((64, channels, *kernel)).astype(np.float32)
    model = onnx.parser.parse_model(TEXT % channels)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "k"))
    onnx.checker.check_model(model)
    onnx.save(model, "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", ["x"], ["y"])
    given = expressions.placeholder(list(x.shape), expressions.NCHW, expressions.float)
    given.write(x)
    found = module.forward([given])
    y = found[0] if isinstance(found, (list, tuple)) else found
    windows = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.float64), kernel, (1, 2))
    truth = np.einsum("chwij,ocij->ohw", windows, weights)
    return float(np.abs(expressions.convert(y, expressions.NCHW).read()[0] - truth).max() / np.abs(truth).max())


print("error of 5 by 1:", error(115, 5, 1))
got = error(64, 3, 3)
print("expected an error of at most 1e-5")
print("got     ", got)
sys.exit(int(got > 1e-5))
