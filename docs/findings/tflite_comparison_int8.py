"""LiteRT 2.3.0: comparisons of int8 are wrong where a scale is 1 or more.

Rule: TFLite's quantization specification, 'real_value = (int8_value - zero_point) * scale', for both tensors of the node:
no value of about 0 is less than -300. The bound of -300 has a scale of 300 / 255. A scale below 1 is right.
Upstream: none known for comparisons; https://github.com/tensorflow/tensorflow/pull/42965 is the same in MUL.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

values = np.linspace(-2.5, 5.0, 8, dtype="float32").reshape(1, 8)
wrong = 0
for bound in -300.0, -200.0:

    @tf.function(input_signature=[tf.TensorSpec([1, 8], tf.float32)])
    def network(x, bound=bound):
        return tf.where(x > bound, x, -x)

    converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: [[values], [-values]]
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    file = converter.convert()
    for name, kernels in ("XNNPACK", OpResolverType.AUTO), ("reference", OpResolverType.BUILTIN_REF):
        interpreter = Interpreter(model_content=file, experimental_op_resolver_type=kernels)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], values)
        interpreter.invoke()
        found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        off = int((np.abs(found - values) > 0.1).sum())
        wrong += off
        print(f"{name}, x > {bound:g}: expected true for all 8, got false for {off}")
sys.exit(int(wrong > 0))
