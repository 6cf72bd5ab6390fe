"""onnx2tf 1.29.24: an LSTM with peepholes: ValueError.

Rule: ONNX LSTM 14: it = f(Xt*(Wi^T) + Ht-1*(Ri^T) + Pi (.) Ct-1 + Wbi + Rbi), where (.) is the product element by
element.
onnx2tf multiplies the peepholes by the state as matrices (tf.matmul of a vector).
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
    "LSTM with P": (
        "(float[1,1,1] x) => (float[1,1,1,2] y) <float[1,8,1] w={1,1,1,1,1,1,1,1},float[1,8,2] r = "
        "{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, float[1,16] b={0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0},float[1,1,2] h = {0,0}, "
        "float[1,6] p = {1,1,1,1,1,1}> { y = LSTM<hidden_size=2>(x, w, r, b, , h, h, p) }"
    ),
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 14]> g ' + text)
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
