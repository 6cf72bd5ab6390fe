"""onnx2tf 1.29.24: LayerNormalization with an axis in front of the last one normalises over that axis alone.

Rule: ONNX LayerNormalization 17: "normalized_axes" is "[axis, ..., rank of X - 1]", and axis is "The first normalization
dimension". The scale is broadcast to these dimensions; one of more than one dimension ends in a TypeError.
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
x = np.array([[[0, 1], [1, 2]]], np.float32)  # their mean is 1, and their variance 0.5
expected = (x - 1) / np.sqrt(np.float32(0.5))
SCALES = {"a scale of one number": "float[1] s = {1}", "a scale of [2, 2]": "float[2,2] s = {1, 1, 1, 1}"}
wrong = False
for name, scale in SCALES.items():
    text = f"(float[1,2,2] x) => (float[1,2,2] y) <{scale}> {{ y = LayerNormalization<axis = 1>(x, s) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    print("expected", name, expected.ravel().tolist())
    try:
        net = onnx2tf.convert(
            input_onnx_file_path="m.onnx",
            output_folder_path="out",
            non_verbose=True,
            disable_model_save=True,
            keep_shape_absolutely_input_names=["x"],
        )
        got = np.asarray(net(x))
        print("got     ", name, got.ravel().tolist())
        wrong |= not np.allclose(got, expected, atol=1e-3)
    except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
        print("got     ", name, type(error).__name__, " ".join(str(error).split())[:120])
        wrong = True
sys.exit(int(wrong))
