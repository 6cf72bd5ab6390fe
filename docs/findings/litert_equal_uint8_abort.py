"""LiteRT 2.3.0 (ai-edge-litert): EQUAL on uint8 tensors without quantisation parameters aborts the process (SIGABRT).

ONNX's Equal takes uint8 since opset 13; TensorFlow 2.21.0's own converter makes a TFLite EQUAL of tf.equal on uint8 without
complaint, the interpreter allocates it, and invoke() ends the process instead of raising. Needs: tensorflow-cpu==2.21.0,
ai-edge-litert==2.3.0. Found with the ONNX node case test_equal_uint8 through onnx2tf 1.29.24.
"""

import faulthandler

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

faulthandler.enable()
spec = tf.TensorSpec([3, 4, 5], tf.uint8)
function = tf.function(lambda x, y: tf.equal(x, y), input_signature=[spec, spec])
content = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()]).convert()
for kind in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO):
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    for row in interpreter.get_input_details():
        interpreter.set_tensor(row["index"], np.arange(60, dtype=np.uint8).reshape(3, 4, 5))
    print(kind, "invoke ...", flush=True)
    interpreter.invoke()
    print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).all(), flush=True)
