"""onnx2tf 1.29.24: ReduceL1 and ReduceL2 over three axes or more: ValueError.

Rule: ONNX ReduceL1 13 and ReduceL2 13: the norm of the elements "along the provided axes", as many as there are. onnx2tf
hands the axes to tf.norm, which takes one or two. ReduceSum over the same axes is converted.
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
    "ReduceL1 over two": "(float[2,3,4] x) => (float[2,1,1] y) { y = ReduceL1<axes=[1,2]>(x) }",
    "ReduceL1 over three": "(float[2,3,4] x) => (float[1,1,1] y) { y = ReduceL1<axes=[0,1,2]>(x) }",
    "ReduceL2 over two": "(float[2,3,4] x) => (float[2,1,1] y) { y = ReduceL2<axes=[1,2]>(x) }",
    "ReduceL2 over three": "(float[2,3,4] x) => (float[1,1,1] y) { y = ReduceL2<axes=[0,1,2]>(x) }",
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
