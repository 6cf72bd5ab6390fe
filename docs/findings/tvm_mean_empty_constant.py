"""apache-tvm 0.27.0.post1: Mean, Sum and Max of a constant without elements are refused.

Rule: ONNX's broadcasting, Mean 13, Sum 13 and Max 13: a dimension of 0 is legal, and the result has no elements.
The importer makes an open size of the 0 of the input: "Cannot broadcast symbolic dimension v with non-1 constant 0". With
two inputs it compiles.
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


x = np.zeros(0, np.float32)
got = {}
for operator in ("Mean", "Sum", "Max"):
    y = run(f"g (float[0] x) => (float[0] y) {{ y = {operator}(x, c) }}", x, c=x)
    got[operator] = y if isinstance(y, str) else y[0].tolist()
print("expected", dict.fromkeys(got, []))
print("got     ", got)
sys.exit(0 if not any(got.values()) else 1)
