"""apache-tvm 0.27.0.post1: ReduceMax and MaxPool of nothing but -inf, and ReduceMin of inf, give a finite number.

Rule: ONNX ReduceMax 18: "Computes the max of the input tensor's elements along the provided axes." That of -inf alone is
-inf; ReduceMin 18 and MaxPool 12 likewise.
The result is the lowest (the largest) finite float32. An attention whose mask leaves nothing of a row does not see that,
and its softmax stays NaN.
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

GRAPHS = {
    "ReduceMax": (-np.inf, "(float[1,1,2] x) => (float[1,1,1] y) <int64[1] a = {2}> { y = ReduceMax(x, a) }"),
    "ReduceMin": (np.inf, "(float[1,1,2] x) => (float[1,1,1] y) <int64[1] a = {2}> { y = ReduceMin(x, a) }"),
    "MaxPool": (-np.inf, "(float[1,1,2] x) => (float[1,1,1] y) { y = MaxPool<kernel_shape = [2]>(x) }"),
}
wrong = 0
for operator, (value, graph) in GRAPHS.items():
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 18]> g ' + graph)
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    got = machine["main"](tvm.runtime.tensor(np.full((1, 1, 2), value, np.float32))).numpy().item()
    wrong += got != value
    print(f"expected  {operator}: {value}")
    print(f"got       {operator}: {got}")
sys.exit(int(wrong > 0))
