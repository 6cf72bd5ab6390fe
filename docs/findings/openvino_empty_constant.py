"""OpenVINO 2026.4.1: an elementwise operator does not broadcast to the size of a constant without elements.

Rule: ONNX's multidirectional broadcasting, Add 14 and Where 16: a dimension of 1 becomes that of the other operand, 0 here.
Add, Sub, Mul, Div, Max, Pow, Less and Where give the shape of the operands that are no constants. With an input in place of
the constant they are right.
Upstream: none known.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import onnx
import openvino as ov
from onnx import numpy_helper


def run(text, *inputs, **constants):
    """What OpenVINO gives for a graph in text."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
    onnx.checker.check_model(model, full_check=True)
    core = ov.Core()
    read = core.read_model(model.SerializeToString())
    return core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([*inputs])[0]


x, c = np.ones((1, 1), np.float32), np.ones((1, 0), np.float32)
added = run("g (float[1,1] x) => (float[1,0] y) { y = Add(x, c) }", x, c=c)
yes = np.array([True])
chosen = run("g (bool[1] yes, float[1,1] x) => (float[1,0] y) { y = Where(yes, x, c) }", yes, x, c=c)
print("expected", [(1, 0), (1, 0)])
print("got     ", [added.shape, chosen.shape])
sys.exit(int([added.shape, chosen.shape] != [(1, 0), (1, 0)]))
