"""apache-tvm 0.27.0.post1: RMSNormalization over all axes does not compile.

Rule: ONNX RMSNormalization 23, attribute axis: the mean of squares is taken from there to the last; 0 means all axes.
The kernel makes the sum of the squares a tensor of shape [1], and reads it without an index.
Upstream: https://github.com/apache/tvm/pull/18012 is about the same of layer_norm (open).
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

TEXT = """<ir_version: 11, opset_import: ["": 23]>
g (float[2,2] x, float[2,2] w) => (float[2,2] y) { y = RMSNormalization<axis = 0, epsilon = 0.0>(x, w) }"""


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


x = np.full((2, 2), 2, np.float32)
expected = [[1.0, 1.0], [1.0, 1.0]]  # the root of the mean of the squares is 2
got = run(TEXT, x, np.ones((2, 2), np.float32))
print("expected", expected)
print("got     ", got)
sys.exit(int(isinstance(got, str) or not np.allclose(got, expected)))
