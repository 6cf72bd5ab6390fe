"""onnxruntime 1.31.1: calibration by entropy takes the whole range, as minmax does, whatever the values are.

Rule: the paper that the code refers to (S. Migacz, GTC 2017, s7310): of all thresholds from the number of levels on, the
one with the least divergence. By default there are 128 bins for 128 levels, so one threshold is left: the whole range.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod
from onnxruntime.quantization.calibrate import create_calibrator

os.chdir(tempfile.mkdtemp())

x = np.random.default_rng(0).standard_normal((400, 1024)).astype(np.float32)
x[7, 7] = 1000.0  # one of 409,600 values, all others are within 6


class Reader(CalibrationDataReader):
    left = [{"x": row[None]} for row in x]

    def get_next(self):
        return self.left.pop() if self.left else None


text = '<ir_version: 8, opset_import: ["": 17]> g (float[1, 1024] x) => (float[1, 1024] y) { y = Neg(x) }'
onnx.save(onnx.parser.parse_model(text), "m.onnx")
calibrator = create_calibrator("m.onnx", None, calibrate_method=CalibrationMethod.Entropy)
calibrator.collect_data(Reader())
low, high = (float(value) for value in calibrator.compute_data()["x"].range_value)
print("expected a threshold far below 1000, at which one value of 409,600 is cut off")
print("got      a range from", low, "to", high)
sys.exit(int(high > 500))
