"""tract 0.23.9: Selu's default alpha and gamma are 1.67326 and 1.0507, truncated to six digits.

Rule: ONNX Selu 6, attributes: alpha is 1.67326319217681884765625 by default, gamma 1.05070102214813232421875.
Results are off by 3 parts in a million. With the same numbers written as attributes -1 is within 2 units in the last place.
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


GAMMA, ALPHA = 1.05070102214813232421875, 1.67326319217681884765625
x = np.array([-1], np.float32)
expected = GAMMA * ALPHA * np.expm1(-1.0)
got = run("g (float[1] x) => (float[1] y) { y = Selu(x) }", x)
written = run(f"g (float[1] x) => (float[1] y) {{ y = Selu <alpha = {ALPHA}, gamma = {GAMMA}> (x) }}", x)
print("expected", expected)
print("got     ", got[0], "and", written[0], "with the attributes")
sys.exit(int(abs(got[0] / expected - 1) > 1e-6))
