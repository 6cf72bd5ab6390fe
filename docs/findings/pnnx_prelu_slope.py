"""pnnx 20261020 (ncnn): PRelu's slopes are taken for those of the channels, whatever their dimensions are.

Rule: ONNX PRelu 16: slope is 'unidirectional broadcastable to the first input'; [2] by [1, 2, 2] is one slope for each
place in the last dimension.
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
        extractor.input(f"in{place}", ncnn.Mat(x, batch_index=0).clone())  # as pnnx's script says
    return extractor.extract("out0")[1].numpy(batch_index=0).copy()


x = -np.ones((1, 2, 2), np.float32)
y = run("g (float[1, 2, 2] x) => (float[1, 2, 2] y) <float[2] c = {1, 2}> { y = PRelu (x, c) }", x)
print("expected", (x * [1, 2]).ravel().tolist())
print("got     ", y.ravel().tolist())
sys.exit(int(not np.array_equal(y, x * np.array([1, 2], np.float32))))
