"""tract 0.23.9: RNN, GRU and LSTM of float16 without an initial state are refused: their zeros are float32.

Rule: ONNX LSTM 14: initial_h has the type of X, and is "assumed to be 0" where it is left out.
Upstream: https://github.com/sonos/tract/issues/1895 tells of a GRU whose state is given (closed).
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

os.chdir(tempfile.mkdtemp())

failed = 0
for operator, gates in ("RNN", 1), ("GRU", 3), ("LSTM", 4):
    text = f"""<ir_version: 8, opset_import: ["": 14]>
    g (float16[1,1,1] x, float16[1,{gates},1] w, float16[1,{gates},1] r) => (float16[1,1,1,1] y)
    {{ y = {operator} <hidden_size = 1> (x, w, r) }}"""
    onnx.save(onnx.parser.parse_model(text), "m.onnx")
    inputs = [np.ones((1, size, 1), np.float16) for size in (1, gates, gates)]
    half = 1 / (1 + np.exp(-1.0))
    expected = {"RNN": np.tanh(1), "GRU": (1 - half) * np.tanh(1), "LSTM": half * np.tanh(half * np.tanh(1))}[operator]
    print(operator, "expected", round(float(expected), 3))
    try:
        runnable = tract.onnx().load("m.onnx").into_model().into_runnable()
        y = float(runnable.run(inputs)[0].to_numpy().ravel()[0])
    except tract.TractError as error:
        lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
        print(operator, "got      an error:", lines[-1])
        failed = 1
        continue
    print(operator, "got     ", round(y, 3))
    failed |= abs(y - expected) > 0.01
sys.exit(int(failed))
