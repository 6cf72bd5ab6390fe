"""onnx2tf 1.29.24: Constant with value_float, value_floats, value_int or value_ints: AttributeError.

Rule: ONNX Constant 12 and 13 has the attributes value_float, value_floats, value_int, value_ints, value_string and
value_strings.
onnx2tf asks a number or a list for its shape. onnxsim folds such a node, where it runs: it refuses IR version 14 and
some files with an If.
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
    "Constant, value_float": "(float[3] x) => (float[3] y) { c = Constant<value_float=1.0>() y = Add(x, c) }",
    "Constant, value_floats": (
        "(float[3] x) => (float[3] y) { c = Constant<value_floats=[1.0, 2.0, 3.0]>() y = Add(x, c) }"
    ),
    "Constant, value_int": "(int64[3] x) => (int64[3] y) { c = Constant<value_int=1>() y = Add(x, c) }",
    "Constant, value_ints": "(int64[3] x) => (int64[3] y) { c = Constant<value_ints=[1, 2, 3]>() y = Add(x, c) }",
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 13]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    names = [value.name for value in model.graph.input] or None
    options = {"not_use_onnxsim": True, "disable_model_save": True, "non_verbose": True}  # onnxsim would fold the nodes
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
