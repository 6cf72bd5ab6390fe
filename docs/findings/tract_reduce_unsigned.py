"""tract 0.23.9: ReduceMax, ReduceMin, ReduceSum, ArgMax and ArgMin of uint32 and uint64 are refused: not "a number".

Rule: ONNX ReduceMax 13, ReduceMin 13, ReduceSum 13, ArgMax 13 and ArgMin 13 have uint32 and uint64 among their types.
ArgMax and ArgMin of uint16 and of uint8 are computed, and so are ReduceMax and ReduceMin of uint8.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Exits with 1 while the defect shows.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import tract

os.chdir(tempfile.mkdtemp())
wrong = 0
for operator, y in (("ReduceMax", 9), ("ReduceMin", 3), ("ReduceSum", 12), ("ArgMax", 1), ("ArgMin", 0)):
    for kind in ("uint32", "uint64"):
        text = f"g ({kind}[2] x) => ({'int64' if operator[0] == 'A' else kind}[1] y) {{ y = {operator}(x) }}"
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + text), "m.onnx")
        try:
            got = tract.onnx().load("m.onnx").into_model().into_runnable().run([np.array([3, 9], kind)])[0].to_numpy()
        except tract.TractError as error:
            got = "an error: " + " ".join(str(error).partition("Stack backtrace")[0].split())
        wrong += isinstance(got, str) or got.tolist() != [y]
        print(f"expected {operator} of {kind}: {[y]}\ngot      {operator} of {kind}: {got}")
sys.exit(int(wrong > 0))
