"""pnnx 20261020 (ncnn): integers other than int64 and inputs of rank 0 are unwritten memory when it runs a file.

Rule: ONNX Div 14 and DFT 20: the files are valid; whether pnnx takes them must not depend on old memory.
pnnx makes up inputs to learn the shapes; into these it writes nothing. glibc is told here to fill new memory with bytes
of 1 or of 0. With 0 its onnxruntime refuses the division, and pnnx goes on into a null pointer (SIGSEGV); so with STFT,
MelWeightMatrix and SplitToSequence. Of a one-sided inverse DFT over axis 0, of one element, it comes to no end.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
INT32, INT64, FLOAT = onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
divide, dft = ["a", "b"], h.make_node("DFT", ["a", "", "b"], ["y"], inverse=1, onesided=1)
files = {  # the node, and the types and shapes of a, b and y
    "int32": (h.make_node("Div", divide, ["y"]), (INT32, [2]), (INT32, [2]), (INT32, [2])),
    "int64 of rank 0": (h.make_node("Div", divide, ["y"]), (INT64, []), (INT64, []), (INT64, [])),
    "axis of DFT": (dft, (FLOAT, [1, 6, 2]), (INT64, []), (FLOAT, None)),
}
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
ends = {}
for name, (node, *kinds) in files.items():
    ports = [h.make_tensor_value_info(k, *kind) for k, kind in zip("aby", kinds, strict=True)]
    graph = h.make_graph([node], "g", ports[:2], ports[2:])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9), "m.onnx")
    for fill in (1, 0) if node is not dft else (0,):
        tunables = f"glibc.malloc.tcache_count=0:glibc.malloc.perturb={255 - fill}"
        variables = {**os.environ, "GLIBC_TUNABLES": tunables}
        try:
            done = subprocess.run([pnnx, "m.onnx", "fp16=0"], env=variables, capture_output=True, timeout=30)
        except subprocess.TimeoutExpired:
            ends[f"{name}, memory of {fill}"] = "no end in 30 s"
        else:
            ends[f"{name}, memory of {fill}"] = done.returncode
print("expected", dict.fromkeys(ends, 0))
print("got     ", ends)
sys.exit(int(any(ends.values())))
