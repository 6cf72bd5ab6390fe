"""tract 0.23.9 (arguable): Erf, Sigmoid and Tanh lose the digits of small results.

Rule: none states a bound; ONNX Erf 13, Sigmoid 13 and Tanh 13 name the functions, and this project wants 4 ULP
(docs/operators.md), 5 for Tanh and 16 for Erf. Each is a polynomial or a quotient of polynomials whose error is bounded
absolutely: erf(0.001) is 1.2e-7 off, and of 1e-10 it gives 0; sigmoid(-16) is 4.5e-7 and not 1.1e-7, as for every x below;
tanh(1e-36) is 0, and of 8 and more it is 6e-7 off.
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


X = {"Erf": 0.001, "Sigmoid": -16.0, "Tanh": 1e-36}
TRUTH = {"Erf": 0.0011283788, "Sigmoid": 1.1253516e-07, "Tanh": 1e-36}
got = {}
for operator, x in X.items():
    text = f"g (float[1] x) => (float[1] y) {{ y = {operator}(x) }}"
    got[operator] = run(text, np.array([x], np.float32))[0]
print("expected", TRUTH)
print("got     ", got)
sys.exit(int(any(abs(got[operator] / truth - 1) > 1e-5 for operator, truth in TRUTH.items())))
