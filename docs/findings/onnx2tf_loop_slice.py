"""onnx2tf 1.29.24: Slice and Unsqueeze in the body of a Loop: OperatorNotAllowedInGraphError.

Rule: ONNX Loop 13: the body is any graph; Slice 13 and Unsqueeze 13 with constant inputs are nothing special in it.
onnx2tf iterates in Python over starts and axes, which inside of tf.while_loop are symbolic, also where they are
constants.
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
    "Slice": (
        "(int64 n, float[3] x) => (float[3] y) <bool c = {1}> { y = Loop(n, c, x) <body = b (int64 i, bool k, "
        "float[3] u) =>(bool l, float[3] w) { l = Identity(k) s = Constant<value = int64[1] {0}>() e = Constant<value "
        "= int64[1] {3}>()w = Slice(u, s, e) }> }"
    ),
    "Unsqueeze": (
        "(int64 n, float[3] x) => (float[3] y) <bool c = {1}> { y = Loop(n, c, x) <body = b (int64 i, bool k, "
        "float[3] u) =>(bool l, float[3] w) { l = Identity(k) a = Constant<value = int64[1] {0}>() s = Unsqueeze(i, "
        "a)t = Cast<to=1>(s) w = Add(u, t) }> }"
    ),
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
