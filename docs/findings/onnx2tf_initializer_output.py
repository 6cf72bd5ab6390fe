"""onnx2tf 1.29.24: an output that is an initializer is left out of the model, without an error.

Rule: ONNX's IR: an initializer may be an output of the graph. Constant 13 and Shape 15 give a tensor as others do.
onnxsim, which onnx2tf runs first, folds Constant, and Shape of a known size, to such an initializer.
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
    "Shape": "(float[2,3] x) => (int64[2] y) { y = Shape(x) }",
    "Constant": "() => (float[2] y) { y = Constant<value = float[2] {1, 2}>() }",
    "Neg and an initializer": "(float[3] x) => (float[3] y, float[2] z) <float[2] z = {1, 2}> { y = Neg(x) }",
}
wrong = 0
for name, text in MODELS.items():
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 15]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    with contextlib.redirect_stdout(io.StringIO()):
        net = onnx2tf.convert(
            "m.onnx",
            output_folder_path="out",
            non_verbose=True,
            disable_model_save=True,
            keep_shape_absolutely_input_names=[value.name for value in model.graph.input] or None,
        )
    print(f"expected  {name}: outputs {len(model.graph.output)}")
    print(f"got       {name}: outputs {len(net.outputs)}")
    wrong |= len(net.outputs) != len(model.graph.output)
sys.exit(int(wrong))
