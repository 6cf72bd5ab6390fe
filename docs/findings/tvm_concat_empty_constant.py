"""apache-tvm 0.27.0.post1: Concat of tensors without elements, one of them a constant, does not compile.

Rule: ONNX Concat 13: "All input tensors must have the same shape, except for the dimension size of the axis to
concatenate on"; sizes of 0 are legal. The importer makes an open size of the 0 of the input; joined along another axis
with the 0 of a constant, the call to relax.concat is left over. Two inputs compile, and so does the axis of the 0.
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
g (float[1,0] x) => (float[2,0] y) <float[1,0] c = {}> { y = Concat<axis = 0>(x, c) }""")
onnx.checker.check_model(model, full_check=True)
try:
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    got = machine["main"](tvm.runtime.tensor(np.zeros((1, 0), np.float32))).numpy().shape
except Exception as error:  # of whatever type the compiler has
    got = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
print("expected", (2, 0))
print("got     ", got)
sys.exit(int(got != (2, 0)))
