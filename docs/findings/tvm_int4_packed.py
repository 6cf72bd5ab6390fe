"""apache-tvm 0.27.0.post1: initializers of int4 and uint4 fail, for packed bytes are taken for one value each.

Rule: onnx.proto, TensorProto, and "4 bit integer types" of ONNX's technical details: two of them are in a byte.
Message: "arr_size == nbytes (4 vs. 8) : TensorCopyFromBytes: size mismatch".
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (float[1,4] x) => (float[1,2] y)
<int4[4,2] q = {1, 1, 1, 1, 1, 1, 1, 1}, float s = {1}> {
    w = DequantizeLinear(q, s)
    y = MatMul(x, w) }"""


def run(text, *inputs):
    """What the compiled model gives for inputs, or the error of its compilation."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    try:
        machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    except Exception as error:  # of whatever type the frontend has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return (found if hasattr(found, "numpy") else found[0]).numpy().tolist()


expected, wrong = [[4.0, 4.0]], []
for kind in ("int4", "uint4"):
    got = run(TEXT.replace("int4", kind), np.ones((1, 4), np.float32))
    print("expected", kind, expected)
    print("got     ", kind, got)
    wrong.append(got != expected)
sys.exit(int(any(wrong)))
