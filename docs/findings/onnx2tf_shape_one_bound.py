"""onnx2tf 1.29.24: Shape with start or end alone gives the sizes of all axes.

Rule: ONNX Shape 15: "If the end axis is omitted, the axes upto the last one will be included", and start is 0 by default.
onnx2tf slices the sizes where both are there, and else gives all of them.
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
x = np.zeros((2, 3, 4), np.float32)
wrong = False
CASES = {"start = 1": [3, 4], "end = 1": [2], "start = 3": [], "start = 1, end = 3": [3, 4]}
for bounds, expected in CASES.items():
    text = f"(float[2,3,4] x) => (int64[N] y) {{ y = Shape<{bounds}>(x) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 15]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    try:
        net = onnx2tf.convert(
            input_onnx_file_path="m.onnx",
            output_folder_path="out",
            non_verbose=True,
            disable_model_save=True,
            not_use_onnxsim=True,  # it would make a constant of the sizes
            keep_shape_absolutely_input_names=["x"],
        )
        got = np.asarray(net(x)).tolist()
    except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
        got = f"{type(error).__name__} {' '.join(str(error).split())[:160]}"
    print("expected", bounds, expected)
    print("got     ", bounds, got)
    wrong |= got != expected
sys.exit(int(wrong))
