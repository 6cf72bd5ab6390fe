"""pnnx 20261020 (ncnn): Gather of a list of one index drops the dimension, as of a scalar.

Rule: ONNX Gather 13: the output has rank q + (r - 1), with q the rank of the indices, which is 1 for [0] and 0 for 0.
pnnx makes both a selection.
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
        extractor.input(f"in{place}", ncnn.Mat(x, batch_index=233).clone())  # 233: no axis is the batch
    return extractor.extract("out0")[1].numpy(batch_index=233).copy()


x = np.array([[1, 2], [3, 4]], np.float32)
y = run("g (float[2, 2] x) => (float[2, 1] y) <int64[1] i = {0}> { y = Gather <axis=1> (x, i) }", x)
print("expected", (2, 1), [1.0, 3.0])
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != (2, 1)))
