"""apache-tvm 0.27.0.post1: OneHot of float32 values gives float64, and of int32 values int64.

Rule: ONNX OneHot 11: "The type of the output tensor is the same as the type of the 'values' input."
The values are right.
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


text = "g (int64[1] x) => ({0}[1,3] y) {{ y = OneHot(x, depth, values) }}"
got = []
for kind, name in ((np.float32, "float"), (np.int32, "int32")):
    y = run(text.format(name), np.array([1]), depth=np.array(3), values=np.array([0, 1], kind))
    got.append(y if isinstance(y, str) else str(y[0].dtype))
print("expected", ["float32", "int32"])
print("got     ", got)
sys.exit(0 if got == ["float32", "int32"] else 1)
