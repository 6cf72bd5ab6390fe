"""onnx2tf 1.29.24: Pow with a base and an exponent of different types: TypeError.

Rule: ONNX Pow 12 and 13: the exponent has a type of its own; the result has the type of the base.
Both go to tf.math.pow as they are, which wants one type.
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
    "Pow, int32 to the power of float": "(int32[2] x, float[2] e) => (int32[2] y) { y = Pow(x, e) }",
    "Pow, int64 to the power of float": "(int64[2] x, float[2] e) => (int64[2] y) { y = Pow(x, e) }",
    "Pow, float to the power of int32": "(float[2] x, int32[2] e) => (float[2] y) { y = Pow(x, e) }",
    "Pow, float to the power of int64": "(float[2] x, int64[2] e) => (float[2] y) { y = Pow(x, e) }",
    "Pow, float to the power of uint32": "(float[2] x, uint32[2] e) => (float[2] y) { y = Pow(x, e) }",
    "Pow, float to the power of uint64": "(float[2] x, uint64[2] e) => (float[2] y) { y = Pow(x, e) }",
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 13]> g ' + text)
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
