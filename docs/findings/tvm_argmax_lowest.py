"""apache-tvm 0.27.0.post1: ArgMax of nothing but the lowest number of the type gives an index that does not exist.

Rule: ONNX ArgMax 13 and ArgMin 13: the index of the first of equal elements, with select_last_index of the last.
The result is -1, with select_last_index the size of the axis. ArgMin of the largest number is the same. Of float32 the
lowest and -inf are affected.
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

wrong = 0
for operator, kind, x, last in (("ArgMax", "uint16", 0, 0), ("ArgMax", "uint16", 0, 1), ("ArgMin", "uint8", 255, 0)):
    text = f"g ({kind}[2] x) => (int64[1] y) {{ y = {operator}<select_last_index = {last}>(x) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    got = machine["main"](tvm.runtime.tensor(np.full(2, x, kind))).numpy().tolist()
    wrong += got != [last]
    print(f"expected {operator} of {x}, {x}: {[last]}\ngot      {operator} of {x}, {x}: {got}")
sys.exit(int(wrong > 0))
