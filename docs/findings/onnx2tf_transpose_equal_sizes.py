"""onnx2tf 1.29.24: a Transpose that moves the first axis leaves axes of equal sizes in their order: a square matrix stays.

Rule: ONNX Transpose 13: perm is "A list of integers. By default, reverse the dimensions, otherwise permute the axes according
to the values given." Where perm does not begin with 0, onnx2tf makes another one of the sizes of input and output, which
do not tell equal ones apart. That of [2, 3] is right.
Upstream: none known.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy. Ends with 1 while the defect shows.
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
for shape, perm in (((2, 3), (1, 0)), ((2, 2), (1, 0)), ((1, 2, 2), (2, 1, 0))):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = x.transpose(perm)
    text = f"(float{list(shape)} x) => (float{list(expected.shape)} y) {{ y = Transpose<perm = {list(perm)}>(x) }}"
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
    print("expected", list(perm), "of", list(shape), expected.tolist())
    print("got     ", list(perm), "of", list(shape), got.tolist())
    wrong |= not np.array_equal(got, expected)
sys.exit(int(wrong))
