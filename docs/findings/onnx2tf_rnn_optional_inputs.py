"""onnx2tf 1.29.24: GRU, RNN and LSTM without B, and LSTM without initial_h, fail: TypeError or ValueError.

Rule: ONNX GRU, RNN and LSTM 14: B, initial_h and initial_c are optional; "If not specified - assumed to be 0".
onnx2tf takes B[0] of None, initial_h[1] of None where the LSTM is bidirectional, and hands Keras an empty list of
states.
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
    "GRU, no B": "(float[2,1,1] x) => (float[2,1,1,1] y) <float[1,3,1] w={1,1,1}> { y = GRU<hidden_size=1>(x, w, w) }",
    "RNN, no B": "(float[2,1,1] x) => (float[2,1,1,1] y) <float[1,1,1] w={1}> { y = RNN<hidden_size=1>(x, w, w) }",
    "LSTM, no B": (
        "(float[2,1,1] x) => (float[2,1,1,1] y) <float[1,4,1] w={1,1,1,1}> { y = LSTM<hidden_size=1>(x, w, w) }"
    ),
    "LSTM, no initial_h": (
        "(float[2,1,1] x) => (float[2,1,1,1] y) <float[1,4,1] w={1,1,1,1}, float[1,8] b={0,0,0,0,0,0,0,0}>{ y = "
        "LSTM<hidden_size=1>(x, w, w, b) }"
    ),
    "LSTM, bidirectional, no initial_h": (
        "(float[2,1,1] x) => (float[2,2,1,1] y) <float[2,4,1] w={1,1,1,1,1,1,1,1},float[2,8] "
        'b={0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}> { y = LSTM<hidden_size=1,direction="bidirectional">(x, w, w, b) }'
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
