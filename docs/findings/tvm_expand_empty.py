"""apache-tvm 0.27.0.post1: Expand of a tensor without elements, or to a shape with a 0, is refused.

Rule: ONNX Expand 13: "Broadcast the input tensor following the given shape and the broadcast rule"; a size of 0 stays, and 1
becomes 0.
The importer makes an open size of the 0 of the input: "'Var' object has no attribute 'value'". Of the shape it wants that
"Target dimensions must be >= 1".
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys

import numpy as np
import onnx
import tvm
from onnx import numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(text, *inputs, **constants):
    """What TVM gives for a graph in text, or its error."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
    onnx.checker.check_model(model, full_check=True)
    try:
        machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
        found = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
        return [y.numpy() for y in ([found] if hasattr(found, "numpy") else found)]
    except Exception as error:  # of whatever type the compiler has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-110:]}"


got = [
    run("g (float[0] x) => (float[0] y) { y = Expand(x, shape) }", np.zeros(0, np.float32), shape=np.array([1])),
    run("g (float[1] x) => (float[0] y) { y = Expand(x, shape) }", np.zeros(1, np.float32), shape=np.array([0])),
]
got = [y if isinstance(y, str) else y[0].tolist() for y in got]
print("expected", [[], []])
print("got     ", got)
sys.exit(0 if got == [[], []] else 1)
