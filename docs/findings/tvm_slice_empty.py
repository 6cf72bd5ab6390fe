"""apache-tvm 0.27.0.post1: Slice that selects nothing is refused where the start is behind the end.

Rule: ONNX Slice 13 is "Similar to numpy", where x[1:0] is empty; starts and ends are clamped to [0, dims] "for positive
stepping", and nothing says that a start must not be behind the end.
Message: "Input [Begin=1, End=0] is invalid for axis=0". Where the tensor has no elements, the result gets a negative size.
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from onnx import numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(text, *inputs, **constants):
    """What TVM gives for a graph in text, or its error."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
    onnx.checker.check_model(model, full_check=True)
    try:
        machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
        found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
        return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]
    except Exception as error:  # of whatever type the compiler has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-110:]}"


zero, one = np.array([0]), np.array([1])
TEXT = "g (float[2,%d] x) => (float[0,%d] y) { y = Slice(x, starts, ends, axes, steps) }"
got = []
for n in (1, 0):
    y = run(TEXT % (n, n), np.zeros((2, n), np.float32), starts=one, ends=zero, axes=zero, steps=one)
    got.append(y if isinstance(y, str) else y[0].shape)
print("expected", [(0, 1), (0, 0)])
print("got     ", got)
sys.exit(0 if got == [(0, 1), (0, 0)] else 1)
