"""onnx2tf 1.29.24: Scan fails, with and without a scan output: TypeError.

Rule: ONNX Scan 11: it runs as many steps as the scanned axis is long; here three.
onnx2tf reads the number of steps from a symbolic tensor and hands it to tf.TensorArray, which wants a number. Without a
scan output the condition of its loop compares with that tensor, and fails.
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
    "Scan, state only": (
        "(float[2] i, float[3,2] x) => (float[2] y) { y = Scan<num_scan_inputs=1, body = b (float[2] s, float[2] n) "
        "=> (float[2] t) { t = Add(s, n) }>(i, x) }"
    ),
    "Scan": (
        "(float[2] i, float[3,2] x) => (float[2] y, float[3,2] z) { y, z = Scan<num_scan_inputs=1,body = b (float[2] "
        "s, float[2] n) => (float[2] t, float[2] o) { t = Add(s, n) o = Identity(t) }>(i, x) }"
    ),
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 11]> g ' + text)
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
