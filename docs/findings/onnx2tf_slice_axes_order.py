"""onnx2tf 1.29.24: Slice with axes that are not in ascending order takes the starts, ends and steps for other axes.

Rule: ONNX Slice 13: starts, ends, axes and steps are lists of one length; the i-th start belongs to the i-th of axes. onnx2tf
puts the given numbers in their order where an axis is listed, and zeros elsewhere.
Upstream: none known.
Needs onnx2tf==1.29.24, tensorflow-cpu==2.21.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf

os.chdir(tempfile.mkdtemp())
TEXT = "(float[4,6] x) => (float[N,M] y) <int64[2] a = {%s}, int64[2] b = {%s}, int64[2] c = {%s}> { y = Slice(x, a, b, c) }"
x = np.arange(24, dtype=np.float32).reshape(4, 6)
CASES = {
    "axes [0, 1]": (
        TEXT % ("1, 2", "3, 5", "0, 1"),
        x[1:3, 2:5],
    ),
    "axes [1, 0]": (
        TEXT % ("2, 1", "5, 3", "1, 0"),
        x[1:3, 2:5],
    ),
}
wrong = False
for name, (text, expected) in CASES.items():
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 13]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    net = onnx2tf.convert(
        input_onnx_file_path="m.onnx",
        output_folder_path="out",
        non_verbose=True,
        disable_model_save=True,
        keep_shape_absolutely_input_names=["x"],
    )
    got = np.asarray(net(x))
    print("expected", name, expected.shape, expected.tolist())
    print("got     ", name, got.shape, got.tolist())
    wrong |= not (got.shape == expected.shape and np.array_equal(got, expected))
sys.exit(int(wrong))
