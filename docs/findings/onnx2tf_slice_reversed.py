"""onnx2tf 1.29.24: a Slice that reverses an axis is taken for a useless one, since the shape stays, and dropped.

Rule: ONNX Slice 13, input steps: "Negative value means slicing backward", as numpy's x[::-1] does. onnx2tf replaces its
tf.strided_slice by tf.identity of the input wherever input and output have the same shape.
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
    "(float[3] x) => (float[N] y) <int64[1] a = {%d}, int64[1] b = {%d}, int64[1] c = {0}, int64[1] d = {%d}> "
    "{ y = Slice(x, a, b, c, d) }"
)
x = np.arange(3, dtype=np.float32)
CASES = {
    "x[::-1]": (
        TEXT % (-1, -9, -1),
        x[::-1],
    ),
    "x[::-2]": (
        TEXT % (-1, -9, -2),
        x[::-2],
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
