"""onnx2tf 1.29.24: a mask or a threshold that is an input of the graph is compared with an empty text: TypeError.

Rule: ONNX Attention 23: attn_mask is an input, of float or of bool; NonMaxSuppression 11: iou_threshold and
score_threshold are inputs.
To see whether the input is left out, onnx2tf writes != '', which for a symbolic tensor is an operator of TensorFlow.
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
    "Attention, mask of float": "(float[1,1,2,4] q, float[2,2] m) => (float[1,1,2,4] y) { y = Attention(q, q, q, m) }",
    "Attention, mask of bool": "(float[1,1,2,4] q, bool[2,2] m) => (float[1,1,2,4] y) { y = Attention(q, q, q, m) }",
    "NonMaxSuppression, iou_threshold": (
        "(float[1,6,4] b, float[1,1,6] s, float[1] i) => (int64[N,3] y) <int64[1] n = {3}> { y = NonMaxSuppression(b, "
        "s, n, i) }"
    ),
    "NonMaxSuppression, score_threshold": (
        "(float[1,6,4] b, float[1,1,6] s, float[1] i) => (int64[N,3] y) <int64[1] n = {3}, float[1] o = {0.5}>{ y = "
        "NonMaxSuppression(b, s, n, o, i) }"
    ),
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 23]> g ' + text)
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
