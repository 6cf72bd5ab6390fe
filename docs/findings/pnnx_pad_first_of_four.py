"""pnnx 20261020 (ncnn): Pad of the first of four dimensions is left out.

Rule: ONNX Pad 13, pads: 'the number of padding elements to add or remove (if negative) at the beginning and end of
each axis'. ncnn's layer Padding pads the last three of four dimensions, and pnnx writes it all the same.
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


x = np.ones((2, 1, 1, 1), np.float32)
text = '<int64[8] p = {1, 0, 0, 1, 0, 0, 0, 0}> { y = Pad <mode="edge"> (x, p) }'
y = run("g (float[2, 1, 1, 1] x) => (float[3, 1, 1, 2] y) " + text, x)
print("expected", (3, 1, 1, 2))
print("got     ", y.shape)
sys.exit(int(y.shape != (3, 1, 1, 2)))
