"""OpenVINO 2026.4.1: a Loop that fills a sequence is refused where a SequenceAt reads the result.

Rule: ONNX Loop 13 carries sequences; SequenceEmpty 11 with dtype 1 is an empty sequence of float32.
Read from a path, the importer gives what the loop carries the type of an int64 scalar, which SequenceInsert in the body
refuses. A sequence that starts as SequenceConstruct is refused too; ConcatFromSequence of the result is taken.
onnx's function body of SequenceMap 17 is such a loop: six cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import openvino as ov
from onnx import parser

model = parser.parse_model("""
<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y)
<int64 turns = {2}, bool go = {1}, int64 k = {1}> {
    empty = SequenceEmpty<dtype = 1>()
    full = Loop (turns, go, empty) <body = b (int64 i, bool on, seq(float[2]) s) => (bool next, seq(float[2]) t) {
        next = Identity(on)
        z = Neg(x)
        t = SequenceInsert(s, z)
    }>
    y = SequenceAt(full, k)
}
""")
inputs = {"x": np.array([1, 2], np.float32)}
expected = np.array([-1, -2], np.float32)
onnx.checker.check_model(model, full_check=True)
print("expected", expected.shape, expected.ravel().tolist())
core = ov.Core()
path = os.path.join(tempfile.mkdtemp(), "m.onnx")
onnx.save(model, path)
try:
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    y = compiled(inputs)[0]
except RuntimeError as error:
    print("got      RuntimeError:", " ".join(str(error).split("detailed log:")[-1].split())[:250])
    sys.exit(1)
print("got     ", y.shape, y.ravel().tolist())
sys.exit(int(y.shape != expected.shape or not np.array_equal(y, expected)))
