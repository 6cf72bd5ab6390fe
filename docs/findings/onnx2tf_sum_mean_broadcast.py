"""onnx2tf 1.29.24: Sum and Mean of tensors with different shapes: ValueError.

Rule: ONNX Sum 13 and Mean 13: "This operator supports multidirectional (i.e., Numpy-style) broadcasting".
onnx2tf makes tf.add_n and tf.stack of them, which take tensors of one shape only. Max of the same inputs is converted.
Upstream: none known.
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
    "Sum, another rank": "(float[2,3] a, float[3] b) => (float[2,3] y) { y = Sum(a, b) }",
    "Sum, a size of 1": "(float[2,3] a, float[2,1] b) => (float[2,3] y) { y = Sum(a, b) }",
    "Mean, another rank": "(float[2,3] a, float[3] b) => (float[2,3] y) { y = Mean(a, b) }",
    "Mean, a size of 1": "(float[2,3] a, float[2,1] b) => (float[2,3] y) { y = Mean(a, b) }",
    "Max": "(float[2,3] a, float[3] b) => (float[2,3] y) { y = Max(a, b) }",
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
