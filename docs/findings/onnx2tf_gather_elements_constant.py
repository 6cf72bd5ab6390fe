"""onnx2tf 1.29.24: GatherElements of three dimensions or more with constant indices: ValueError.

Rule: ONNX GatherElements 13: indices is a tensor of the rank of the data; a constant is one. From three dimensions on onnx2tf
builds a model for a dry run whose outputs are the data and the indices, and a constant is no output of a model of Keras.
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
    "indices in two dimensions": "(float[2,3] x) => (float[1,3] y) <int64[1,3] i = {0, 1, 0}> { y = GatherElements<axis=0>(x, i) }",
    "indices in three dimensions": "(float[2,3,1] x) => (float[1,3,1] y) <int64[1,3,1] i = {0, 1, 0}> { y = GatherElements<axis=0>(x, i) }",
    "indices that are an input": "(float[2,3,1] x, int64[1,3,1] i) => (float[1,3,1] y) { y = GatherElements<axis=0>(x, i) }",
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
