"""onnx2tf 1.29.24: BatchNormalization in training mode gives one output of three, without an error.

Rule: ONNX BatchNormalization 15, training_mode 1: the outputs are Y, running_mean and running_var.
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
    "BatchNormalization": (
        "(float[2,3,4,5] x, float[3] s, float[3] v) => (float[2,3,4,5] y, float[3] m, float[3] w)"
        "{ y, m, w = BatchNormalization<training_mode=1>(x, s, s, s, v) }"
    )
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
