"""onnx2tf 1.29.24: Shape with a start or an end that is no axis of the input is not clamped to its axes.

Rule: ONNX Shape 15: "Note that axes will be clamped to the range [0, r], where r is the rank of the input tensor if they are
out-of-range (after adding r in the case of negative axis)." A start of -5 adds the rank twice and is 1, and an end of 9 goes
on to tf.slice as it is, which refuses it.
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
CASES = {"start = 1, end = 3": [3, 4], "start = -5, end = 2": [2, 3], "start = 0, end = 9": [2, 3, 4]}
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
