"""MNN 3.6.1: Max, Min, Clip and Abs of int32 round to the 24 bits of float32, and Mul does not keep all 32 bits.

Rule: ONNX Max 13, Min 13, Clip 13, Abs 13 and Mul 14 have int32 among their types; the larger one of 16777217 and 0 is
16777217, and 46341 * 46340 is 2147441940, a number of int32.
Upstream: none known.
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import _tools  # the converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py)
import MNN.expr as expressions
import MNN.nn as nn
import numpy as np
import onnx

os.chdir(tempfile.mkdtemp())
CASES = {
    "Max(a, b)": ([16777217], [0], [16777217]),
    "Min(a, b)": ([16777217], [2**30], [16777217]),
    "Clip(a, low, high)": ([16777217], [0], [16777217]),
    "Abs(a)": ([-16777217], [0], [16777217]),
    "Mul(a, b)": ([46341], [46340], [2147441940]),
}
SOME = "<int32 low = {0}, int32 high = {2000000000}>"
wrong = 0
for call, (a, b, expected) in CASES.items():
    names = [name for name in ("a", "b") if f"{name}," in call or f"{name})" in call]
    ports = ", ".join(f"int32[1] {name}" for name in names)
    some = SOME if "low" in call else ""
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({ports}) => (int32[1] y) {some} {{ y = {call} }}'
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", "m.onnx", "--MNNModel", "m.mnn", "--bizCode", "b"])
    module = nn.load_module_from_file("m.mnn", names, ["y"])
    given = []
    for x in (a, b)[: len(names)]:
        given.append(expressions.placeholder([1], expressions.NCHW, expressions.int))
        given[-1].write(np.array(x, np.int32))
    found = module.forward(given)
    y = expressions.convert(found[0] if isinstance(found, (list, tuple)) else found, expressions.NCHW).read()
    if np.asarray(y).tolist() != expected:
        wrong += 1
        print("expected", call, expected)
        print("got     ", call, np.asarray(y).tolist())
sys.exit(int(wrong > 0))
