"""pnnx 20261020 (ncnn): Mod without the attribute fmod ends it with unordered_map::at (SIGABRT).

Rule: ONNX Mod 13: 'fmod : int (default is 0)'; integers need no attribute.
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


x = np.array([7, 8], np.float32)  # ncnn's tensors have no types
try:
    got = run("g (int64[2] x, int64[2] n) => (int64[2] y) { y = Mod (x, n) }", x, np.array([5, 3], np.float32)).tolist()
except (subprocess.CalledProcessError, AssertionError) as error:
    got = str(error) or "ncnn does not load what pnnx wrote"
print("expected", [2.0, 2.0])
print("got     ", got)
sys.exit(int(got != [2, 2]))
