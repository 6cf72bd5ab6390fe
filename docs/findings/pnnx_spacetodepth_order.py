"""pnnx 20261020 (ncnn): SpaceToDepth puts the places of a block behind each other, where ONNX puts the channels.

Rule: ONNX SpaceToDepth 13 'is the inverse of DepthToSpace' in its default mode DCR: the new depth counts first the
places of the block, then the channels. pnnx makes it PyTorch's pixel_unshuffle, which counts the channels first. With
one channel both are the same.
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


x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
y = run("g (float[1, 2, 2, 2] x) => (float[1, 8, 1, 1] y) { y = SpaceToDepth <blocksize=2> (x) }", x)
print("expected", [0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0])
print("got     ", y.ravel().tolist())
sys.exit(int(y.ravel().tolist() != [0, 4, 1, 5, 2, 6, 3, 7]))
