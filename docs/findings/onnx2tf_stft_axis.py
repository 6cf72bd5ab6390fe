"""onnx2tf 1.29.24: STFT of a signal with a last axis of size 1 takes that axis for time.

Rule: ONNX STFT 17: a real signal is [batch_size, signal_length, 1], and the output is [batch_size, frames,
dft_unique_bins, 2].
tf.signal.stft, which frames the last axis, is given the signal as it is.
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
    '<ir_version: 8, opset_import: ["": 17]> g (float[1,128,1] x) => (float[1,A,B,2] y) '
    f"<int64 s = {{8}}, float[16] w = {{{', '.join(['1.0'] * 16)}}}, int64 l = {{16}}> {{ y = STFT(x, s, w, l) }}"
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
with contextlib.redirect_stdout(io.StringIO()):
    options = {"non_verbose": True, "disable_model_save": True, "keep_shape_absolutely_input_names": ["x"]}
    net = onnx2tf.convert("m.onnx", output_folder_path="out", **options)
expected = ReferenceEvaluator(model).run(None, {"x": np.ones([1, 128, 1], np.float32)})[0]
print("expected ", list(expected.shape))
print("got      ", list(net.outputs[0].shape))
sys.exit(int(list(net.outputs[0].shape) != list(expected.shape)))
