"""onnx2tf 1.29.24: LpPool with a stride that is larger than the kernel: ValueError (not supported).

Rule: ONNX LpPool 18: kernel_shape is "The size of the kernel along each axis", strides "Stride along each spatial axis"; no
relation between them is asked for. onnx2tf makes tf.nn.pool, which refuses it; MaxPool and AveragePool are converted.
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
    "LpPool": "(float[1,2,4,5] x) => (float[1,2,2,3] y) { y = LpPool<kernel_shape=[1,1], strides=[2,2]>(x) }",
    "MaxPool": "(float[1,2,4,5] x) => (float[1,2,2,3] y) { y = MaxPool<kernel_shape=[1,1], strides=[2,2]>(x) }",
    "AveragePool": "(float[1,2,4,5] x) => (float[1,2,2,3] y) { y = AveragePool<kernel_shape=[1,1], strides=[2,2]>(x) }",
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
