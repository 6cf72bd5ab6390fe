"""apache-tvm 0.27.0.post1: Upsample 9 is not converted: its scales are looked for among the attributes.

Rule: ONNX Upsample 9: scales is an input; it is an attribute in Upsample 7 only.
Upstream: https://github.com/apache/tvm/pull/2840 mended the same message in a former frontend.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

TEXT = """<ir_version: 8, opset_import: ["": 9]>
g (float[1,1,1,2] x) => (float[1,1,1,4] y) {
    s = Constant<value = float[4] {1, 1, 1, 2}>()
    y = Upsample<mode = "nearest">(x, s) }"""


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


expected = [[[[1.0, 1.0, 2.0, 2.0]]]]
got = run(TEXT, np.array([[[[1, 2]]]], np.float32))
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
