"""onnxruntime 1.31.1: the quantiser removes a Relu that a branch of an If reads, which then reads what was before it.

Rule: ONNX If 16 and the IR: a branch reads the names of the outer graph, here the result of Relu, which is never
negative. quantize_static leaves the Relu out and counts only the readers in the graph itself, which read it quantised.
The option QDQKeepRemovableActivations keeps the Relu.
Upstream: none known.
Needs: pip install onnxruntime==1.31.1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import parser, save
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

MODEL = """<ir_version: 8, opset_import: ["": 17]> g (float[1,1] x, bool c) => (float[1,1] y, float[1,1] z)
<float[1,1] w = {1.0}> {
    p = MatMul(x, w)  r = Relu(p)  y = MatMul(r, w)
    z = If(c) <then_branch = t () => (float[1,1] u) { u = Identity(r) },
               else_branch = e () => (float[1,1] v) { v = Neg(r) }>
}"""


class Reader(CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"x": np.float32([[value]]), "c": np.array(True)} for value in (-4, 0, 2, 4)])

    def get_next(self):
        return next(self.left, None)


with tempfile.TemporaryDirectory() as folder:
    plain, quantised = (str(Path(folder) / name) for name in ("plain.onnx", "quantised.onnx"))
    save(parser.parse_model(MODEL), plain)
    quantize_static(plain, quantised, Reader(), quant_format=QuantFormat.QDQ)
    given = {"x": np.float32([[-2]]), "c": np.array(True)}
    got, right = (float(onnxruntime.InferenceSession(path).run(["z"], given)[0][0, 0]) for path in (quantised, plain))
print("expected", right)
print("got     ", got)
sys.exit(int(abs(got - right) > 0.05))
