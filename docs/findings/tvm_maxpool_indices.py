"""apache-tvm 0.27.0.post1: MaxPool gives no Indices, its second output (not supported).

Rule: ONNX MaxPool 8 to 22: the output Indices has the places of the maxima in the flattened input.
Upstream: https://github.com/apache/tvm/issues/14614 was the same of TVM's former frontend, relay (closed).
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

TEXT = """<ir_version: 8, opset_import: ["": 12]>
g (float[1,1,4] x) => (float[1,1,2] y, int64[1,1,2] i) { y, i = MaxPool<kernel_shape = [2], strides = [2]>(x) }"""


def run(text, *inputs):
    """What the compiled model gives for inputs, or the error of its compilation."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    try:
        machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    except Exception as error:  # of whatever type the frontend has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-160:]}"
    found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return (found if hasattr(found, "numpy") else found[1]).numpy().tolist()


expected = [[[1, 2]]]
got = run(TEXT, np.array([[[0, 3, 5, 4]]], np.float32))
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
