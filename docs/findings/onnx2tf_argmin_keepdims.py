"""onnx2tf 1.29.24: ArgMin without keepdims drops the dimension, which ONNX keeps by default.

Rule: ONNX ArgMin 13, attribute keepdims: "Keep the reduced dimension or not, default 1 means keep reduced dimension."
onnx2tf takes 0 for the default of ArgMin; of ArgMax it takes 1.
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
x = np.array([[3, 1, 2], [4, 6, 5]], np.float32)
expected = {"ArgMax": np.array([[0], [1]]), "ArgMin": np.array([[1], [0]])}
wrong = False
for name, want in expected.items():
    text = f"g (float[2,3] x) => (int64[2,1] y) {{ y = {name}<axis = 1>(x) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 13]> ' + text)
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
    print("expected", name, want.shape, want.tolist())
    print("got     ", name, got.shape, got.tolist())
    wrong |= not (got.shape == want.shape and np.array_equal(got, want))
sys.exit(int(wrong))
