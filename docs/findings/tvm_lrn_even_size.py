"""apache-tvm 0.27.0.post1: LRN with an even size adds a channel: of one it gives two, of more it is refused.

Rule: ONNX LRN 13: Y has the shape of X, for every size. The window of channel c is from c - floor((size - 1) / 2) to
c + ceil((size - 1) / 2); here size / 2 is padded on both sides.
Upstream: none known. https://github.com/apache/tvm/pull/18668 brought it.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

wrong = 0
for channels in (1, 2):
    shape = f"[1,{channels},1,1]"
    text = f"g (float{shape} x) => (float{shape} y) {{ y = LRN<size = 2>(x) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    try:
        machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
        got = str(list(machine["main"](tvm.runtime.tensor(np.ones((1, channels, 1, 1), "float32"))).shape))
    except ValueError as error:
        got = f"ValueError: {' '.join(str(error).split())[-125:]}"
    wrong += got.replace(" ", "") != shape
    print(f"expected {shape}\ngot      {got}")
sys.exit(int(wrong > 0))
