"""onnx2tf 1.29.24: parameters that are inputs of the graph end in a Python exception; constants only (not supported).

Rule: ONNX LayerNormalization 17, Trilu 14, Dropout 13, Unsqueeze 13, Squeeze 13, GRU, RNN and LSTM 14,
MelWeightMatrix 17 and Pad 18 have these as inputs; nothing wants them constant.
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
    "LayerNormalization, scale": "(float[3,4] x, float[4] s) => (float[3,4] y) { y = LayerNormalization(x, s) }",
    "Trilu, k": "(float[3,4] x, int64 k) => (float[3,4] y) { y = Trilu(x, k) }",
    "Dropout, ratio": "(float[3,4] x, float k) => (float[3,4] y) { y = Dropout(x, k) }",
    "Unsqueeze, axes": "(float[3,4] x, int64[1] k) => (float[A,B,C] y) { y = Unsqueeze(x, k) }",
    "Squeeze, axes": "(float[1,4] x, int64[1] k) => (float[A] y) { y = Squeeze(x, k) }",
    "GRU, W R B": (
        "(float[2,1,1] x, float[1,3,1] w, float[1,6] b) => (float[2,1,1,1] y) { y = GRU<hidden_size=1>(x, w, w, b) }"
    ),
    "RNN, W R B": (
        "(float[2,1,1] x, float[1,1,1] w, float[1,2] b) => (float[2,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w, b) }"
    ),
    "LSTM, W R B": (
        "(float[2,1,1] x, float[1,4,1] w, float[1,8] b, float[1,1,1] h) => (float[2,1,1,1] y){ y = "
        "LSTM<hidden_size=1>(x, w, w, b, , h, h) }"
    ),
    "MelWeightMatrix, all": "(int64 n, float f) => (float[A,B] y) { y = MelWeightMatrix(n, n, n, f, f) }",
    "Pad, mode edge, pads": '(float[3,4] x, int64[4] p) => (float[A,B] y) { y = Pad<mode="edge">(x, p) }',
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 18]> g ' + text)
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
