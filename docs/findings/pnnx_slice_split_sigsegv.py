"""pnnx 20261020 (ncnn): Split into equal parts and Slice with computed bounds kill ncnn (SIGSEGV) when it runs.

Rule: ONNX Split 13: 'Otherwise, the tensor is split to equal sized parts'; Slice 13: starts and ends are inputs.
pnnx writes the first as ncnn's layer Slice without sizes and leaves the second as it is, which has the same name; that
layer reads sizes that are not there. pnnx ends with 0.
Upstream: https://github.com/Tencent/ncnn/issues/6094 (Split with split_size_or_sections=None).
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
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
floats = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [6])
bounds = [h.make_tensor_value_info(k, onnx.TensorProto.INT64, [1]) for k in ("start", "end")]
outputs = [h.make_tensor_value_info(k, onnx.TensorProto.FLOAT, [2]) for k in ("y", "z", "a")]
graphs = {
    "Split": h.make_graph([h.make_node("Split", ["x"], ["y", "z", "a"])], "g", [floats], outputs),
    "Slice": h.make_graph([h.make_node("Slice", ["x", "start", "end"], ["y"])], "g", [floats, *bounds], outputs[:1]),
}
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
killed = []
for name, graph in graphs.items():
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = os.fork()  # a crash must not end the script
    if not pid:
        net = ncnn.Net()
        assert net.load_param("m.ncnn.param") == 0 and net.load_model("m.ncnn.bin") == 0
        extractor = net.create_extractor()
        for index, x in enumerate((np.arange(6), np.array([2]), np.array([4]))[: len(graph.input)]):
            extractor.input(f"in{index}", ncnn.Mat(x.astype(np.float32)).clone())
        extractor.extract("out0")
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    killed += [f"{name} killed by signal {os.WTERMSIG(status)}"] if os.WIFSIGNALED(status) else []
print("expected", [])
print("got     ", killed)
sys.exit(int(bool(killed)))
