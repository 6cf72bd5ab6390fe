"""onnx2tf 1.29.24: Resize to a size that the graph gathers from a shape gets a size without elements.

Rule: ONNX Resize 11 to 19: sizes is an input, which may be computed. PyTorch's TorchScript exporter writes a shape so:
Shape, Gather, Unsqueeze and Concat; so does every feature pyramid of torchvision's detectors. Sizes of Slice are taken.
Upstream: none known.
Needs onnx2tf==1.29.24, tensorflow-cpu==2.21.0, onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import contextlib
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf

os.chdir(tempfile.mkdtemp())
TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[n,1,h,w] x) => (float[n,1,p,q] y)
<int64[1] zero = {0}, int64[1] two = {2}, int64 second = {2}, int64 third = {3}> {
    small = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
    shape = Shape(small)
    front = Slice(shape, zero, two)
    size = Shape(x)
    h0 = Gather(size, second)
    h1 = Unsqueeze(h0, zero)
    w0 = Gather(size, third)
    w1 = Unsqueeze(w0, zero)
    back = Concat<axis = 0>(h1, w1)
    sizes = Concat<axis = 0>(front, back)
    y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
        (small, "", "", sizes) }"""
x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
expected = np.full((1, 1, 2, 2), 3, np.float32)  # the largest, four times
model = onnx.parser.parse_model(TEXT)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
print("expected", expected.shape, expected.ravel()[:8].tolist())
try:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # onnx2tf's log
        net = onnx2tf.convert(
            input_onnx_file_path="m.onnx",
            output_folder_path="out",
            non_verbose=True,
            disable_model_save=True,
            keep_shape_absolutely_input_names=["x"],
        )
        y = np.asarray(net([x]))
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    print("got     ", type(error).__name__, " ".join(str(error).split())[:200])
    sys.exit(1)
print("got     ", y.shape, y.ravel()[:8].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected, atol=1e-5)))
