"""onnxruntime 1.31.1: the quantiser removes a Clip whose lower bound is above 0, and the quantised model clips at 0.

Rule: ONNX Clip 13, "Clip operator limits the given input within an interval". quantize_static gives the layer before the
range of the Clip's result, which it widens until it holds 0, and leaves the Clip out. A division by what was at least 1
becomes one by 0. The option QDQKeepRemovableActivations keeps the Clip.
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

MODEL = """<ir_version: 8, opset_import: ["": 17]> g (float[1,1] x) => (float[1,1] y)
<float[1,1] w = {1.0}, float one = {1.0}> { p = MatMul(x, w)  r = Clip(p, one)  y = MatMul(r, w) }"""


class Reader(CalibrationDataReader):
    def __init__(self):
        self.left = iter([{"x": np.float32([[value]])} for value in (-4, 0, 2, 4)])

    def get_next(self):
        return next(self.left, None)


with tempfile.TemporaryDirectory() as folder:
    plain, quantised = (str(Path(folder) / name) for name in ("plain.onnx", "quantised.onnx"))
    save(parser.parse_model(MODEL), plain)
    quantize_static(plain, quantised, Reader(), quant_format=QuantFormat.QDQ)
    got, right = (
        float(onnxruntime.InferenceSession(path).run(None, {"x": np.float32([[-2]])})[0][0, 0])
        for path in (quantised, plain)
    )
print("expected", right, "and less than a step of 4 / 255 beside it")
print("got     ", got)
sys.exit(int(abs(got - right) > 0.05))
