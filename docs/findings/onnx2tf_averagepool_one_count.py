"""onnx2tf 1.29.24: AveragePool counts its padding where every window has the same number of elements beside it.

Rule: ONNX AveragePool 19, count_include_pad: "Whether include pad pixels when calculating values for the edges. Default is 0,
doesn't count include pad." onnx2tf corrects the averages of TensorFlow, which count it, where the numbers of elements differ
from window to window; where they are equal it takes them for the size of the kernel.
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
wrong = False
for size, expected in ((4, [6.0, 7.0]), (2, [6.0])):  # windows of one and two elements; a window of one
    x = np.array([6, 8, 6, 8], np.float32)[:size].reshape(1, 1, 1, size)
    text = f"(float[1,1,1,{size}] x) => (float[1,1,1,{size // 2}] y) {{ y = AveragePool<kernel_shape = [1, 2], pads = "
    text += "[0, 1, 0, 0], strides = [1, 2]>(x) }"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 19]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    net = onnx2tf.convert(
        input_onnx_file_path="m.onnx",
        output_folder_path="out",
        non_verbose=True,
        disable_model_save=True,
        keep_ncw_or_nchw_or_ncdhw_input_names=["x"],
    )
    got = np.asarray(net(x)).ravel().tolist()
    print("expected", expected, "of", x.ravel().tolist())
    print("got     ", got)
    wrong |= got != expected
sys.exit(int(wrong))
