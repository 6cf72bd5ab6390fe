"""apache-tvm 0.27.0.post1: a library that is exported with a constant of shape [1, 0] cannot be loaded.

Rule: TVM's own, export_library and load_module: what is saved can be loaded. The graph is legal: ONNX's broadcasting, Add 14,
gives a tensor without elements.
Message: "Invalid DLTensor file format". A 0 as the first size, as in [0, 1], can be loaded; and the executable that was not
saved runs.
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys
import tempfile

import numpy as np
import onnx
import tvm
from onnx import numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def saved(path, text, *inputs, **constants):
    """The shape of what a graph in text gives that is exported and loaded, or the error."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
    onnx.checker.check_model(model, full_check=True)
    try:
        relax.build(from_onnx(model), tvm.target.Target("llvm")).export_library(path)
        machine = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
        return machine["main"](*[tvm.runtime.tensor(x) for x in inputs]).numpy().shape
    except Exception as error:  # of whatever type the compiler has
        return f"{type(error).__name__}: {' '.join(str(error).split())[-110:]}"


folder = tempfile.mkdtemp()
got = [
    saved(f"{folder}/{rows}.so", f"g (float x) => (float[{rows},{1 - rows}] y) {{ y = Add(x, c) }}", np.float32(1),
          c=np.zeros((rows, 1 - rows), np.float32))
    for rows in (0, 1)
]  # fmt: skip
print("expected", [(0, 1), (1, 0)])
print("got     ", got)
sys.exit(0 if got == [(0, 1), (1, 0)] else 1)
