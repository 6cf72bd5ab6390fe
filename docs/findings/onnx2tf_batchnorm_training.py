"""onnx2tf 1.29.24: BatchNormalization in training mode is computed as in inference, without an error.

Rule: ONNX BatchNormalization 15, training_mode 1: Y is normalised with the mean and variance of X itself; the outputs
are Y, running_mean and running_var. It is normalised with the inputs, and has one output of the three.
Needs onnx2tf==1.29.24, tensorflow-cpu==2.21.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is
gone.
"""

import contextlib
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx.parser
import onnx2tf
from onnx.reference import ReferenceEvaluator

os.chdir(tempfile.mkdtemp())
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 15]> g (float[2,3,4,5] x, float[3] s, float[3] v) => (float[2,3,4,5] y, '
    "float[3] m, float[3] w) { y, m, w = BatchNormalization<training_mode=1>(x, s, s, s, v) }"
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
x = np.random.default_rng(0).normal(3, 2, [2, 3, 4, 5]).astype(np.float32)
given = {"x": x, "s": np.array([1, 2, 3], np.float32), "v": np.array([1, 4, 9], np.float32)}
options = {"non_verbose": True, "disable_model_save": True, "keep_shape_absolutely_input_names": list(given)}
with contextlib.redirect_stdout(io.StringIO()):
    net = onnx2tf.convert("m.onnx", output_folder_path="out", **options)
expected = ReferenceEvaluator(model).run(None, given)
got = net([given[tensor.name.split(":")[0]] for tensor in net.inputs])
got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
print("expected ", len(expected), "outputs, y begins", np.round(expected[0].ravel()[:4], 4).tolist())
print("got      ", len(got), "output, y begins", np.round(got[0].ravel()[:4], 4).tolist())
sys.exit(int(len(got) != len(expected) or not np.allclose(got[0], expected[0], atol=1e-4)))
