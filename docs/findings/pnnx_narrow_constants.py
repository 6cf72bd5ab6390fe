"""pnnx 20261020 (ncnn): constants of integers of 8 and 16 bits are stored as such, and ncnn cannot load them.

Rule: ONNX Add 14 takes int8 and int16. pnnx writes a layer MemoryData and the one or two bytes of each number behind
it, where ncnn reads four. Of one element it is another defect (pnnx_float64_constant_sigabrt.py).
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


def run(text, *inputs, constant):
    """What ncnn gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.node.insert(0, constant)
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


x = np.array([7, 9], np.float32)  # ncnn's tensors have no types
wrong = 0
for kind in ("int8", "int16"):
    constant = onnx.helper.make_node(
        "Constant", [], ["c"], value=onnx.numpy_helper.from_array(np.array([5, 3], kind), "c")
    )
    try:
        got = run(f"g ({kind}[2] x) => ({kind}[2] y) {{ y = Add (x, c) }}", x, constant=constant).tolist()
    except AssertionError:
        got = "a file that ncnn does not load"
    print("expected", kind, [12.0, 12.0])
    print("got     ", kind, got)
    wrong += got != [12, 12]
sys.exit(int(wrong > 0))
