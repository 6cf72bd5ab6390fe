"""onnx2tf 1.29.24: Abs and Sign of unsigned integers: TypeError (not supported).

Rule: ONNX Abs 13 and Sign 13 take uint8, uint16, uint32 and uint64: Abs is x itself, Sign is 0 or 1.
onnx2tf hands them on to tf.abs and tf.sign, which take signed types only.
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
    "Abs of uint8": "(uint8[3] x) => (uint8[3] y) { y = Abs(x) }",
    "Abs of uint16": "(uint16[3] x) => (uint16[3] y) { y = Abs(x) }",
    "Abs of uint32": "(uint32[3] x) => (uint32[3] y) { y = Abs(x) }",
    "Abs of uint64": "(uint64[3] x) => (uint64[3] y) { y = Abs(x) }",
    "Sign of uint8": "(uint8[3] x) => (uint8[3] y) { y = Sign(x) }",
    "Sign of uint16": "(uint16[3] x) => (uint16[3] y) { y = Sign(x) }",
    "Sign of uint32": "(uint32[3] x) => (uint32[3] y) { y = Sign(x) }",
    "Sign of uint64": "(uint64[3] x) => (uint64[3] y) { y = Sign(x) }",
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
