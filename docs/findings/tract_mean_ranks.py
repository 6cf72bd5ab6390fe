"""tract 0.23.9: Mean of two tensors of different ranks is refused: "Typed ops require rank match".

Rule: ONNX Mean 13: "Element-wise mean of each of the input tensors (with Numpy-style broadcasting support)".
The sum is broadcast, and Sum is right; the division by the number of operands is made with the rank of the first operand.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

os.chdir(tempfile.mkdtemp())


def run(text, *inputs):
    """What tract gives for a graph in text, or the message with which it refuses it."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    try:
        return tract.onnx().load("m.onnx").into_model().into_runnable().run([*inputs])[0].to_numpy().tolist()
    except tract.TractError as error:
        lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
        return f"an error: {lines[-1]}"


a, b = np.array([1, 2], np.float32), np.array([[3, 4]], np.float32)
got = run("g (float[2] a, float[1,2] b) => (float[1,2] y) { y = Mean(a, b) }", a, b)
print("expected", [[2.0, 3.0]])
print("got     ", got)
sys.exit(int(got != [[2.0, 3.0]]))
