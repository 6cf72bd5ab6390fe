"""onnx2tf 1.29.24: operators on a sequence that is an input of the graph: AttributeError.

Rule: ONNX SequenceLength 11, SequenceInsert 11 and ConcatFromSequence 11 take a sequence of tensors, from wherever it
comes.
The input is made a plain tensor, and they want a ragged one.
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
    "SequenceLength": "(seq(float[N]) s) => (int64 y) { y = SequenceLength(s) }",
    "SequenceInsert": (
        "(seq(float[N]) s, float[2] x) => (float[N] y) <int64 p = {0}>{ t = SequenceInsert(s, x, p) y = SequenceAt(t, "
        "p) }"
    ),
    "ConcatFromSequence": "(seq(float[N]) s) => (float[N] y) { y = ConcatFromSequence<axis=0>(s) }",
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
