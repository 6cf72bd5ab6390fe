"""apache-tvm 0.27.0.post1: Squeeze without axes of a tensor without elements does not compile.

Rule: ONNX Squeeze 13: "If `axes` is not provided, all the single dimensions will be removed from the shape."
The importer makes an open size of the 0, and the call to relax.squeeze of an open size without axes is left over.
With axes, and without a size of 0, it compiles.
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
g (float[1,0] x) => (float[0] y) { y = Squeeze(x) }""")
onnx.checker.check_model(model, full_check=True)
try:
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    got = machine["main"](tvm.runtime.tensor(np.zeros((1, 0), np.float32))).numpy().shape
except Exception as error:  # of whatever type the compiler has
    got = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
print("expected", (0,))
print("got     ", got)
sys.exit(int(got != (0,)))
