"""onnx2tf 1.29.24: inputs of bfloat16 and float8 become quint16, uint16, complex128, float16 or resource silently.

Rule: ONNX's TensorProto: BFLOAT16 = 16, FLOAT8E4M3FN = 17, FLOAT8E4M3FNUZ = 18, FLOAT8E5M2 = 19, FLOAT8E5M2FNUZ = 20.
These numbers go to TensorFlow, whose own numbers 16 to 20 are other types. What computes with them refuses the type, or
reads other values.
Needs onnx2tf==1.29.24, tensorflow-cpu==2.21.0 and onnx. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import contextlib
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import onnx.parser
import onnx2tf

os.chdir(tempfile.mkdtemp())
TYPES = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
}
wrong = 0
for name, expected in TYPES.items():
    text = f"({name}[3] x) => (float[3] y) {{ y = Cast<to=1>(x) }}"
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    with contextlib.redirect_stdout(io.StringIO()):
        net = onnx2tf.convert(
            "m.onnx",
            output_folder_path="out",
            non_verbose=True,
            disable_model_save=True,
            keep_shape_absolutely_input_names=["x"],
        )
    got = net.inputs[0].dtype.name
    print(f"expected  {name}: {expected}")
    print(f"got       {name}: {got}")
    wrong |= got != expected
sys.exit(int(wrong))
