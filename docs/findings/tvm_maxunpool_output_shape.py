"""apache-tvm 0.27.0.post1: MaxUnpool with its input output_shape is not converted.

Rule: ONNX MaxUnpool 9, 11 and 22, input output_shape: "The shape of the output can be explicitly set".
The converter calls tolist() of it, which neither an input of the graph nor a constant has in TVM.
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

TEXT = """<ir_version: 8, opset_import: ["": 11]>
g (float[1,1,1] x, int64[1,1,1] i) => (float[1,1,3] y) {
    s = Constant<value = int64[3] {1, 1, 3}>()
    y = MaxUnpool<kernel_shape = [2], strides = [2]>(x, i, s) }"""


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


expected = [[[0.0, 7.0, 0.0]]]
got = run(TEXT, np.array([[[7]]], np.float32), np.array([[[1]]]))
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
