"""pnnx 20261020 (ncnn 1.0.20261020): Add of int32 becomes a layer of float32: 16777217 + 2 is 16777218, not 16777219.

Rule: ONNX Add 14 has int32 among its types; all these numbers are numbers of int32. ncnn's tensors have no type, pnnx writes
a BinaryOp for integers as for floats, and refuses nothing. Neither way to hand the numbers over helps: as float32 they are
rounded to 24 bits, and by their bits, as the script that pnnx writes does it, they are added as other floats.
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
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (int32[2] a, int32[2] b) => (int32[2] y) { y = Add(a, b) }'
)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run(*inputs):
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
    extractor = net.create_extractor()
    for place, x in enumerate(inputs):
        extractor.input(f"in{place}", ncnn.Mat(x, batch_index=233).clone())  # 233: no axis is the batch, as pnnx has it
    return np.array(extractor.extract("out0")[1].numpy(batch_index=233))


a, b = np.array([16777217, 5], np.int32), np.array([2, 6], np.int32)
expected = [16777219, 11]
as_floats = run(a.astype(np.float32), b.astype(np.float32)).astype(np.int64).tolist()
by_bits = run(a, b).view(np.int32).tolist()
print("expected", expected)
print("got     ", as_floats, "as float32;", by_bits, "by their bits")
sys.exit(int(expected not in (as_floats, by_bits)))
