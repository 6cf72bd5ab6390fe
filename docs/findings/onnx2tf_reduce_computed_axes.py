"""onnx2tf 1.29.24: every Reduce operator whose axes are an input of the graph, or computed: TypeError.

Rule: ONNX ReduceSum 13 and the other Reduce operators 18: axes is an optional input; nothing wants it constant.
onnx2tf takes len() of the axes to try their combinations, and a symbolic tensor of Keras has no length. ReduceL1 and
ReduceL2 fail with stored axes too: they go to tf.norm as numpy.int64, which that refuses.
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
    "ReduceL1": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceL1(x, a) }",
    "ReduceL2": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceL2(x, a) }",
    "ReduceLogSum": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceLogSum(x, a) }",
    "ReduceLogSumExp": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceLogSumExp(x, a) }",
    "ReduceMax": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceMax(x, a) }",
    "ReduceMean": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceMean(x, a) }",
    "ReduceMin": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceMin(x, a) }",
    "ReduceProd": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceProd(x, a) }",
    "ReduceSum": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceSum(x, a) }",
    "ReduceSumSquare": "(float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceSumSquare(x, a) }",
    "ReduceL1, axes stored": "(float[2,3] x) => (float[2,1] y) <int64[1] a={1}> { y = ReduceL1(x, a) }",
    "ReduceL2, axes stored": "(float[2,3] x) => (float[2,1] y) <int64[1] a={1}> { y = ReduceL2(x, a) }",
    "ReduceSum, axes computed": "(float[2,3] x, int64[1] a) => (float[A,B] y) { b = Neg(a) y = ReduceSum(x, b) }",
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
