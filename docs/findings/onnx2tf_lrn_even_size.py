"""onnx2tf 1.29.24 (arguable): LRN with an even size leaves one channel of the window out.

Rule: ONNX LRN 13: square_sum runs over max(0, c - floor((size - 1) / 2)) to min(C - 1, c + ceil((size - 1) / 2)).
With size 2 that is the channel itself and the next one. onnx2tf takes floor((size - 1) / 2) for the depth_radius on both
sides, 0 here. Arguable, because floor and ceil differ only for even sizes and several tools refuse those.
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
x = np.array([1, 2, 3, 4], np.float32).reshape(1, 4, 1, 1)
squares = np.square(x).ravel()
following = [squares[c : c + 2].sum() for c in range(4)]
expected = x.ravel() / (1 + 2 / 2 * np.array(following))
text = "(float[1,4,1,1] x) => (float[1,4,1,1] y) { y = LRN<size = 2, alpha = 2.0, beta = 1.0, bias = 1.0>(x) }"
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 13]> g ' + text)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
    keep_ncw_or_nchw_or_ncdhw_input_names=["x"],
)
got = np.asarray(net(x)).ravel()
print("expected", expected.tolist())
print("got     ", got.tolist())
sys.exit(int(not np.allclose(got, expected, rtol=1e-5)))
