"""apache-tvm 0.27.0.post1: PRelu of a scalar is refused: "the input axis -1 is out of range".

Rule: ONNX PRelu 16: f(x) = slope * x for x < 0 "is applied to the data tensor elementwise", and a scalar is a tensor.
The slope of a tensor may be a scalar.
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


got = run("g (float x, float slope) => (float y) { y = PRelu(x, slope) }", np.float32(-1), np.float32(0.5))
got = got if isinstance(got, str) else got[0].tolist()
print("expected", -0.5)
print("got     ", got)
sys.exit(0 if got == -0.5 else 1)
