"""tract 0.23.9: Celu forgets to multiply by alpha.

Rule: ONNX Celu 12: max(0,x) + min(0,alpha*(exp(x/alpha)-1)).
What comes out is exp(x/alpha)-1 for a negative x. With alpha = 1, the default, it is right.
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


x = np.array([-1, 2], np.float32)
expected = [float(0.5 * np.expm1(-1 / 0.5)), 2.0]
got = run("g (float[2] x) => (float[2] y) { y = Celu <alpha = 0.5> (x) }", x)
print("expected", expected)
print("got     ", got)
sys.exit(int(isinstance(got, str) or not np.allclose(got, expected, rtol=1e-5)))
