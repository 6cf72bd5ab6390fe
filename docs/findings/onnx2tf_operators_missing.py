"""onnx2tf 1.29.24: the package has no module for these operators of ONNX, and refuses them (not supported).

Rule: ONNX's operator list: those of ai.onnx up to opset 28, of ai.onnx.ml up to 5, of ai.onnx.preview.training 1.
onnx2tf has one module per operator, onnx2tf/ops/<Operator>.py. BitCast is also handed to the tool, for its message.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy.
Ends with 1 while one of them is missing, with 0 when none is.
"""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import onnx
import onnx2tf
from onnx import helper as h

OPERATORS = (
    *("ArrayFeatureExtractor", "Binarizer", "LabelEncoder", "TreeEnsemble", "Adagrad", "Adam", "Gradient", "Momentum"),
    *("BitCast", "CastLike", "CausalConvWithState", "FlexAttention", "LinearAttention", "SequenceMap", "SwiGLU"),
    "Swish",
)
missing = [name for name in OPERATORS if importlib.util.find_spec(f"onnx2tf.ops.{name}") is None]
for name in missing:
    print(f"expected {name}: a module onnx2tf.ops.{name}\ngot      {name}: no such module")
os.chdir(tempfile.mkdtemp())
x = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
y = h.make_tensor_value_info("y", onnx.TensorProto.INT32, [2])
node = h.make_node("BitCast", ["x"], ["y"], to=onnx.TensorProto.INT32)
model = h.make_model(h.make_graph([node], "g", [x], [y]), opset_imports=[h.make_opsetid("", 26)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
said = io.StringIO()
try:
    with contextlib.redirect_stdout(said):
        onnx2tf.convert("m.onnx", output_folder_path="out", non_verbose=True, disable_model_save=True)
    got = "converted"
except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
    lines = [line for line in said.getvalue().splitlines() if "onnx2tf.ops" in line]
    got = (lines or [repr(error)])[0][:160]
print("expected BitCast: converted")
print("got      BitCast:", got)
sys.exit(int(bool(missing) or got != "converted"))
