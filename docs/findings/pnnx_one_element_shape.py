"""pnnx 20261020 (ncnn): a constant of one element loses its dimensions: [2] + [1, 1] has the shape [2].

Rule: ONNX Add 14 and Pow 15 broadcast as numpy does: [2] and [1, 1] give [1, 2]. pnnx makes the constant a number of
the layer BinaryOp.
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


x = np.array([1, 2], np.float32)
y = run("g (float[2] x) => (float[1, 2] y) <float[1, 1] c = {2}> { y = Add (x, c) }", x)
print("expected", (1, 2), [3.0, 4.0])
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != (1, 2)))
