"""tract 0.23.9: Flatten of a tensor without elements is refused: "Reshape volume mismatch".

Rule: ONNX Flatten 13: the shape of the result is (d_0 X d_1 ... d_(axis-1), d_axis X d_(axis+1) ... X dn), here (1, 0).
It becomes a Reshape to (1, 0), in which a 0 stands for the size of the input at that place, here 3.
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


x = np.zeros((1, 3, 0), np.float32)
got = run("g (float[1,3,0] x) => (float[1,0] y) { y = Flatten <axis = 1> (x) }", x)
print("expected", [[]])
print("got     ", got)
sys.exit(int(got != [[]]))
