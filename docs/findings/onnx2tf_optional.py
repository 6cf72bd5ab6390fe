"""onnx2tf 1.29.24: Optional, OptionalGetElement and OptionalHasElement always fail: TypeError or AttributeError.

Rule: ONNX Optional 15, OptionalGetElement 18 and OptionalHasElement 18.
onnx2tf calls tf.experimental.Optional.from_value with an argument "name" that it does not have; without it TensorFlow
refuses a Keras tensor there ("Could not build a `TypeSpec`"). An empty Optional is made, and then asked for its shape.
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
    "Optional": "(float[2] x) => (bool y) { o = Optional(x) y = OptionalHasElement(o) }",
    "Optional, none": "(float[2] x) => (float[2] z, optional(float[2]) y) { z = Neg(x) y = Optional<type=float[2]>() }",
    "OptionalGetElement, optional": "(optional(float[2]) x) => (float[2] y) { y = OptionalGetElement(x) }",
    "OptionalGetElement, tensor": "(float[2] x) => (float[2] y) { y = OptionalGetElement(x) }",
    "OptionalGetElement, sequence": "(optional(seq(float[2])) x) => (seq(float[2]) y) { y = OptionalGetElement(x) }",
    "OptionalHasElement": "(optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }",
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
