"""OpenVINO 2026.4.1 (not supported): no float8 with one zero (fnuz), no integers of 2 bits, and no Equal of strings.

Rule: ONNX Cast 25 has float8e4m3fnuz, float8e5m2fnuz, int2 and uint2; QuantizeLinear 25 and DequantizeLinear 25 have
int2 and uint2; Equal 19 has strings. Each is the smallest of onnx's own cases.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import re
import sys
import warnings

import openvino as ov
from onnx.backend.test import loader

CASES = {
    "Cast to float8e4m3fnuz": "test_cast_FLOAT_to_FLOAT8E4M3FNUZ",
    "Cast to float8e5m2fnuz": "test_cast_FLOAT_to_FLOAT8E5M2FNUZ",
    "Cast to int2": "test_cast_FLOAT_to_INT2",
    "Cast to uint2": "test_cast_FLOAT_to_UINT2",
    "CastLike to float8e4m3fnuz": "test_castlike_FLOAT_to_FLOAT8E4M3FNUZ",
    "CastLike to int2": "test_castlike_FLOAT_to_INT2",
    "QuantizeLinear to int2": "test_quantizelinear_int2",
    "QuantizeLinear to uint2": "test_quantizelinear_uint2",
    "DequantizeLinear from int2": "test_dequantizelinear_int2",
    "DequantizeLinear from uint2": "test_dequantizelinear_uint2",
    "Equal of strings": "test_equal_string",
}

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
core = ov.Core()
refused = 0
for what, name in CASES.items():
    try:
        core.compile_model(core.read_model(models[name].SerializeToString()), "CPU")
    except RuntimeError as error:
        refused += 1
        print(f"expected  {what}: compiled")
        said = re.search("Unsupported data type [A-Z0-9]+|unsupported src_prc: string", str(error))
        print(f"got       {what}:", said[0] if said else str(error).strip().splitlines()[-1])
sys.exit(int(refused > 0))
