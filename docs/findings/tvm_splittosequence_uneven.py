"""apache-tvm 0.27.0.post1: SplitToSequence by a scalar that does not divide the length gives equal parts: 6 by 4 is 3 and 3.

Rule: ONNX SplitToSequence 11: with a scalar split, 'input' is 'split into chunks all of size 'split' if possible. The last
chunk alone may be smaller than 'split''. The converter takes the number of chunks, and makes equal ones.
Upstream: https://github.com/apache/tvm/issues/20232 tells the same of the frontend of PyTorch (closed)
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

x = np.arange(6, dtype=np.float32)
parts = []
for place, size in enumerate((4, 2)):
    model = onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["": 18]> g (float[6] x) => (float[{size}] y) {{
        n = Constant<value=int64{{4}}>() s = SplitToSequence(x, n) k = Constant<value=int64{{{place}}}>()
        y = SequenceAt(s, k) }}"""
    )
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    parts.append(machine["main"](tvm.runtime.tensor(x)).numpy().tolist())
expected = [[0, 1, 2, 3], [4, 5]]
print("expected", expected)
print("got     ", parts)
sys.exit(int(parts != expected))
