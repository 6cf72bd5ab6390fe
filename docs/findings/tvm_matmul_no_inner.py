"""apache-tvm 0.27.0.post1: MatMul, Gemm and ReduceSum that sum over nothing give what the memory held.

Rule: ONNX MatMul 13 behaves like numpy.matmul, and Gemm 13 is A' * B': a sum over nothing is 0.
The 0 that a sum begins with is written in the loop over the inner dimension, which has no turn here. The Add leaves 2 in
the memory that the MatMul gets. ReduceSum over an axis without elements is the same.
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(text, *inputs):
    """What TVM gives for a graph in text, or its error."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    try:
        machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
        found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
        return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]
    except Exception as error:  # of whatever type the compiler has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-110:]}"


one, a = np.ones((64, 64), np.float32), np.zeros((64, 0), np.float32)
held = run("g (float[64,64] x) => (float[64,64] y) { y = Add(x, x) }", one)
del held
got = run("g (float[64,0] a, float[0,64] b) => (float[64,64] y) { y = MatMul(a, b) }", a, a.T.copy())[0]
print("expected", "0.0 to 0.0")
print("got     ", got.min(), "to", got.max())
sys.exit(0 if not got.any() else 1)
