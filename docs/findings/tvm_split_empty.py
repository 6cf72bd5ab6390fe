"""apache-tvm 0.27.0.post1: Split into parts of which one that is not the last has no elements is refused.

Rule: ONNX Split 13, split: "Optional length of each output. Values should be >= 0."
Message: "split_indices must be sorted", for the same index stands twice, or 0 first. An empty last part is right.
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


x = np.array([1, 2], np.float32)
got = run("g (float[2] x) => (float[0] y, float[2] z) { y, z = Split(x, split) }", x, split=np.array([0, 2]))
got = got if isinstance(got, str) else [y.tolist() for y in got]
print("expected", [[], [1.0, 2.0]])
print("got     ", got)
sys.exit(0 if got == [[], [1.0, 2.0]] else 1)
