"""onnx2tf 1.29.24: EyeLike, Compress, Bernoulli, onesided DFT and ConcatFromSequence fail on data not known yet.

Rule: ONNX EyeLike 9, Compress 11, Bernoulli 15, DFT 17 and ConcatFromSequence 11 take data that is not known at the
time of conversion, as every operator does.
A tensor of Keras goes to tf.experimental.numpy.compress, tf.compat.v1.distributions, tf.signal.rfft and irfft,
tf.sparse.to_dense and to a comparison in Python.
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
    "EyeLike": "(float[3,4] x) => (float[3,4] y) { y = EyeLike(x) }",
    "Compress": "(float[3,4] x, bool[3] c) => (float[A,4] y) { y = Compress<axis=0>(x, c) }",
    "Compress, condition stored": (
        "(float[3,4] x) => (float[A,4] y) <bool[3] c = {1, 0, 1}> { y = Compress<axis=0>(x, c) }"
    ),
    "Bernoulli": "(float[3,4] x) => (float[3,4] y) { y = Bernoulli(x) }",
    "DFT, onesided": "(float[1,8,1] x) => (float[1,5,2] y) { y = DFT<onesided=1>(x) }",
    "DFT, onesided and inverse": "(float[1,5,2] x) => (float[1,A,B] y) { y = DFT<inverse=1,onesided=1>(x) }",
    "ConcatFromSequence": (
        "(float[3] x) => (float[6] y) { s = SequenceConstruct(x, x) y = ConcatFromSequence<axis=0>(s) }"
    ),
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 17]> g ' + text)
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
