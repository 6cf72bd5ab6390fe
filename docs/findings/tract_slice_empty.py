"""tract 0.23.9: Slice that selects nothing is refused where the start is behind the end.

Rule: ONNX Slice 13 is "Similar to numpy", where x[1:0] is empty; starts and ends are clamped to [0, dims] "for positive
stepping", and nothing says that a start must not be behind the end.
Of an axis of length 0 a slice with a negative step is refused too. Message: "Condition failed: `start <= end`".
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract
from onnx import numpy_helper

os.chdir(tempfile.mkdtemp())


def run(text, *inputs, **constants):
    """What tract gives for a graph in text, or the message with which it refuses it."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constants.items())
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    try:
        return tract.onnx().load("m.onnx").into_model().into_runnable().run([*inputs])[0].to_numpy().tolist()
    except tract.TractError as error:
        lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
        return f"an error: {lines[-1]}"


axes, back = np.array([0]), np.array([-1])
one, zero = np.array([1]), np.array([0])
TEXT = "g (float[%d] x) => (float[0] y) { y = Slice(x, starts, ends, axes, steps) }"
got = [
    run(TEXT % 2, np.ones(2, np.float32), starts=one, ends=zero, axes=axes, steps=one),
    run(TEXT % 0, np.ones(0, np.float32), starts=zero, ends=zero, axes=axes, steps=back),
]
print("expected", [[], []])
print("got     ", got)
sys.exit(int(got != [[], []]))
