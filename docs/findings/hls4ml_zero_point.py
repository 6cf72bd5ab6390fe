"""hls4ml 1.3.0: the zero point of a Quant whose scale is a power of two is dropped, in silence.

Rule: QONNX Quant 1: quantized = clamp(round(x / scale + zeropt)), y = (quantized - zeropt) * scale.
Its pass for such scales is meant for zero points of 0; the test for that is overwritten by the test of the scale.
Upstream: none known.
Needs hls4ml==1.3.0, qonnx, onnx, numpy and g++. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import hls4ml
import numpy as np
import onnx
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.util.cleanup import cleanup_model

os.chdir(tempfile.mkdtemp())

TEXT = """<ir_version: 8, opset_import: ["": 13, "qonnx.custom_op.general": 1]>
g (float[1,4] x) => (float[1,4] y) <float scale = {0.5}, float zero = {2.0}, float bits = {4.0}> {
    y = qonnx.custom_op.general.Quant<signed = 0, narrow = 0, rounding_mode = "ROUND">(x, scale, zero, bits)
}"""
x = np.array([[-2.0, -1.0, 0.5, 7.0]], np.float32)
expected = np.array([-1.0, -1.0, 0.5, 6.5])  # 4 bits without a sign hold 0 to 15, so -1 to 6.5
model = cleanup_model(ModelWrapper(onnx.parser.parse_model(TEXT)))
config = hls4ml.utils.config_from_onnx_model(model, backend="Vitis", default_precision="ap_fixed<32,16>")
made = hls4ml.converters.convert_from_onnx_model(
    model, output_dir="design", backend="Vitis", io_type="io_parallel", hls_config=config
)
made.compile()
y = made.predict(x).ravel()
print("expected", expected.tolist())
print("got     ", y.tolist())
sys.exit(int(not np.array_equal(y, expected)))
