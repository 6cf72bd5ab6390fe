"""tract 0.23.9: Equal and Pad of bool are refused: "Bool is not a number".

Rule: ONNX Equal 13 takes tensor(bool), and so does Pad 13, which pads with False by default.
Of float32 and int64 both are computed; the code that chooses by the type knows numeric types only.
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


yes = np.array([True, True])
expected = [[True, True], [False, True, True, False]]
got = [
    run("g (bool[2] a, bool[2] b) => (bool[2] y) { y = Equal(a, b) }", yes, yes),
    run("g (bool[2] a) => (bool[4] y) { y = Pad(a, pads) }", yes, pads=np.array([1, 1])),
]
print("expected", expected)
print("got     ", got)
sys.exit(int(got != expected))
