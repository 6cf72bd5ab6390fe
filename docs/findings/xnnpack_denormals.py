"""XNNPACK in LiteRT 2.3.0 (arguable): numbers below the smallest normal float32 are taken for 0: Ceil of 1e-45 is 0.

Rule: none says it; TensorProto.FLOAT is a float32 of IEEE 754, which has such numbers, and Ceil 13 gives the smallest integer
that is not below x. ONNX does not say whether a tool may flush them to 0. LiteRT without XNNPACK keeps them.
Upstream: none known.
Needs: pip install tensorflow-cpu==2.21.0 ai-edge-litert==2.3.0 numpy. Ends with 1 while the defect shows, else with 0.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

x = np.array([1e-45, 1e-39, np.finfo(np.float32).tiny, -0.0, 0.5], np.float32)
expected = np.array([1, 1, 1, -0.0, 1], np.float32)
function = tf.function(tf.math.ceil, input_signature=[tf.TensorSpec(x.shape, tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()]).convert()
found = {}
for kind in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
    tool = Interpreter(model_content=made, experimental_op_resolver_type=kind)
    tool.allocate_tensors()
    tool.set_tensor(tool.get_input_details()[0]["index"], x)
    tool.invoke()
    found[kind.name] = tool.get_tensor(tool.get_output_details()[0]["index"])
print("expected", expected.tolist())
print("got     ", found["AUTO"].tolist())
print("without XNNPACK", found["BUILTIN_WITHOUT_DEFAULT_DELEGATES"].tolist())
sys.exit(int(not np.array_equal(found["AUTO"], expected)))
