"""onnx2tf 1.29.24: a scalar input of the graph gets a dimension, with which seven operators fail.

Rule: ONNX Range 11, HammingWindow 17 and the other windows take scalars; QuantizeLinear 19 takes a scalar scale; an
input of the shape [] has no dimension.
tf.keras.Input(shape=[]) without a batch size makes [None] of []. Where nothing refuses it, the output has a dimension
more than declared.
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
    "Range": "(float a) => (float[N] y) { y = Range(a, a, a) }",
    "HammingWindow": "(int32 a) => (float[N] y) { y = HammingWindow(a) }",
    "HannWindow": "(int32 a) => (float[N] y) { y = HannWindow(a) }",
    "BlackmanWindow": "(int32 a) => (float[N] y) { y = BlackmanWindow(a) }",
    "QuantizeLinear": "(float[6] x, float s, uint8 z) => (uint8[6] y) { y = QuantizeLinear(x, s, z) }",
    "QuantizeLinear to float8": (
        "(float[6] x, float s) => (float8e4m3fn[6] y) <float8e4m3fn z = {0}> { y = QuantizeLinear(x, s, z) }"
    ),
    "Shrink": "(float x) => (float y) { y = Shrink(x) }",
    "Einsum": '(float x) => (float y) { y = Einsum<equation="->">(x) }',
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 19]> g ' + text)
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
