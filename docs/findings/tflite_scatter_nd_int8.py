"""TensorFlow 2.21.0 (TFLite) and LiteRT 2.3.0: SCATTER_ND of int8 adds up integers as if their zero point were 0.

Rule: TFLite's quantization specification, 'real_value = (int8_value - zero_point) * scale', for both tensors of the node:
what no number goes to is 0, whose integer is the zero point, and the sum of two real values is not that of their integers.
The kernel fills the result with integers 0 and adds the integers with their zero points, in 8 bits.
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

samples = np.random.default_rng(0).uniform(-1, 3, (20, 3, 2)).astype("float32")


@tf.function(input_signature=[tf.TensorSpec([3, 2], tf.float32)])
def network(x):
    return tf.scatter_nd([[0], [2], [0]], x, [4, 2])


converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: [[x] for x in samples]
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
file = converter.convert()
x = np.array([[0.5, 1.0], [2.0, -0.5], [0.25, -0.25]], "float32")
expected = network(x).numpy()
worst = 0.0
for name, kernels in ("TFLite", OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES), ("XNNPACK", OpResolverType.AUTO):
    interpreter = Interpreter(model_content=file, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    print(f"{name}\nexpected {expected.tolist()}\ngot      {got.round(3).tolist()}")
    worst = max(worst, float(abs(got - expected).max()))
sys.exit(int(worst > 0.1))
