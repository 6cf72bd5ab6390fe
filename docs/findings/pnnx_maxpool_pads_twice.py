"""pnnx 20261020 (ncnn): MaxPool whose pads are not the same at both ends is padded twice.

Rule: ONNX MaxPool 12, pads: 'the number of pixels added to the beginning and end part of the corresponding axis'; 6
elements with one in front are 7, of which windows of 2 in steps of 2 are 3. pnnx writes a layer Padding with it, and
writes it into the pooling as well.
Upstream: none known.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import ncnn
import numpy as np
import onnx

os.chdir(tempfile.mkdtemp())
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch


def run(text, *inputs):
    """What ncnn gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
    extractor = net.create_extractor()
    for place, x in enumerate(inputs):
        extractor.input(f"in{place}", ncnn.Mat(x, batch_index=0).clone())  # as in the script of pnnx
    return extractor.extract("out0")[1].numpy(batch_index=0).copy()


x = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)
y = run(
    "g (float[1, 1, 6] x) => (float[1, 1, 3] y) { y = MaxPool <kernel_shape=[2], strides=[2], pads=[1, 0]> (x) }", x
)
print("expected", [1.0, 3.0, 5.0])
print("got     ", y.ravel().tolist())
sys.exit(int(y.ravel().tolist() != [1, 3, 5]))
