"""onnx2tf 1.29.24: Cast to bfloat16, to float8 or float4, or to an integer of 4 or 2 bits: KeyError (not supported).

Rule: ONNX Cast 25 takes all these types as its attribute "to".
The table ONNX_DTYPES_TO_TF_DTYPES has no entry for them, although TensorFlow has all of them but float8e8m0.
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
MODELS = {
    "bfloat16": "(float[3] x) => (float[3] y) { a = Cast<to=16>(x) y = Cast<to=1>(a) }",
    "float8e4m3fn": "(float[3] x) => (float[3] y) { a = Cast<to=17>(x) y = Cast<to=1>(a) }",
    "float8e4m3fnuz": "(float[3] x) => (float[3] y) { a = Cast<to=18>(x) y = Cast<to=1>(a) }",
    "float8e5m2": "(float[3] x) => (float[3] y) { a = Cast<to=19>(x) y = Cast<to=1>(a) }",
    "float8e5m2fnuz": "(float[3] x) => (float[3] y) { a = Cast<to=20>(x) y = Cast<to=1>(a) }",
    "uint4": "(float[3] x) => (float[3] y) { a = Cast<to=21>(x) y = Cast<to=1>(a) }",
    "int4": "(float[3] x) => (float[3] y) { a = Cast<to=22>(x) y = Cast<to=1>(a) }",
    "float4e2m1": "(float[3] x) => (float[3] y) { a = Cast<to=23>(x) y = Cast<to=1>(a) }",
    "float8e8m0": "(float[3] x) => (float[3] y) { a = Cast<to=24>(x) y = Cast<to=1>(a) }",
    "uint2": "(float[3] x) => (float[3] y) { a = Cast<to=25>(x) y = Cast<to=1>(a) }",
    "int2": "(float[3] x) => (float[3] y) { a = Cast<to=26>(x) y = Cast<to=1>(a) }",
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 13, opset_import: ["": 25]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    names = [value.name for value in model.graph.input] or None
    options = {"not_use_onnxsim": True, "disable_model_save": True, "non_verbose": True}  # onnxsim changes nothing here
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            onnx2tf.convert("m.onnx", output_folder_path="out", keep_shape_absolutely_input_names=names, **options)
    except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
        return f"{type(error).__name__} {' '.join(str(error).split())[:160]}"
    return "converted"


results = {name: result(text) for name, text in MODELS.items()}
for name, got in results.items():
    print(f"expected  {name}: converted")
    print(f"got       {name}: {got}")
sys.exit(int(set(results.values()) != {"converted"}))
