"""apache-tvm 0.27.0.post1: EyeLike is refused where its dtype is not the input's, which is what the attribute is for.

Rule: ONNX EyeLike 9 and 22, attribute dtype: "The data type for the elements of the output tensor. If not specified,
the data type of the input tensor T1 is used."
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

TEXT = """<ir_version: 8, opset_import: ["": 9]>
g (int32[2,2] x) => (float[2,2] y) { y = EyeLike<dtype = 1>(x) }"""


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


expected = [[1.0, 0.0], [0.0, 1.0]]
got = run(TEXT, np.zeros((2, 2), np.int32))
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
