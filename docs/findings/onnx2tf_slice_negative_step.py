"""onnx2tf 1.29.24: Slice with a negative step takes a start or an end of 0 for the end of the axis.

Rule: ONNX Slice 13: "Slice uses the starts, ends, axes and steps inputs to select a sub-tensor", "Similar to numpy": x[0::-1]
is x[0] alone, and x[3:0:-1] is without x[0]. onnx2tf sets the masks of tf.strided_slice wherever start or end is 0 or less,
which leave them out: all of the axis in that direction.
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
TEXT = (
    "(float[5] x) => (float[N] y) <int64[1] a = {%d}, int64[1] b = {%d}, int64[1] c = {0}, int64[1] d = {%d}> "
    "{ y = Slice(x, a, b, c, d) }"
)
x = np.arange(5, dtype=np.float32)
CASES = {
    "x[0::-1]": (
        TEXT % (0, -9, -1),
        x[0::-1],
    ),
    "x[3:0:-1]": (
        TEXT % (3, 0, -1),
        x[3:0:-1],
    ),
    "x[3:1:-1]": (
        TEXT % (3, 1, -1),
        x[3:1:-1],
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
