"""tract 0.23.9: DynamicQuantizeLSTM of com.microsoft is missing, which onnxruntime's quantiser makes (not supported).

Rule: none of ONNX's; onnxruntime's ContribOperators.md, com.microsoft.DynamicQuantizeLSTM. quantize_dynamic writes it.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import onnx
import tract

os.chdir(tempfile.mkdtemp())
TEXT = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
g (float[2,1,1] x) => (float[2,1,1,1] y, float[1,1,1] h, float[1,1,1] c)
<int8[1,1,4] w = {1, 1, 1, 1}, int8[1,1,4] r = {1, 1, 1, 1}, float[1,8] b = {0, 0, 0, 0, 0, 0, 0, 0},
 float[1] s = {1}, int8[1] z = {0}> {
    y, h, c = com.microsoft.DynamicQuantizeLSTM<hidden_size = 1>(x, w, r, b, "", "", "", "", s, z, s, z) }"""
onnx.save(onnx.parser.parse_model(TEXT), "m.onnx")
print("expected DynamicQuantizeLSTM: taken")
try:
    tract.onnx().load("m.onnx").into_model().into_runnable()
except tract.TractError as error:
    lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
    print("got      DynamicQuantizeLSTM:", lines[0], lines[-1])
    sys.exit(1)
print("got      DynamicQuantizeLSTM: taken")
sys.exit(0)
