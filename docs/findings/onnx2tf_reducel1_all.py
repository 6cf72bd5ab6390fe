"""onnx2tf 1.29.24: ReduceL1 without axes, which reduces all of them: TypeError.

Rule: ONNX ReduceL1 13, attribute axes: "The default is to reduce over all the dimensions of the input tensor"; from 18 on
axes are an optional input that says the same. onnx2tf takes the number of axes by len(), also where there are none. It
converts the other operators without axes.
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
    "ReduceL1": "(float[2,3] x) => (float[1,1] y) { y = ReduceL1(x) }",
    "ReduceL2": "(float[2,3] x) => (float[1,1] y) { y = ReduceL2(x) }",
    "ReduceSum": "(float[2,3] x) => (float[1,1] y) { y = ReduceSum(x) }",
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
