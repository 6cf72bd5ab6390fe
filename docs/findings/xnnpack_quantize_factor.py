"""LiteRT 2.3.0: the factor of int8 QUANTIZE and LEAKY_RELU in XNNPACK has 8 bits behind the point (arguable).

Rule: TFLite's quantization specification, 'real_value = (int8_value - zero_point) * scale', for both tensors of the node:
an integer times the quotient of the scales, rounded to the nearest, is at most half a step off. XNNPACK rounds the
quotient to a multiple of 1/256 first, which moves integers of 8 bits by up to half a step more. TFLite's own kernel has
31 bits. Arguable, as the specification sets no limit for these two operators.
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

samples = np.linspace(-2, 9, 12, dtype="float32").reshape(12, 1, 1)


@tf.function(input_signature=[tf.TensorSpec([1, 1], tf.float32)])
def network(x):
    return tf.nn.leaky_relu(x, 0.5)


converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: [[x] for x in samples]
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
converter.inference_input_type = converter.inference_output_type = tf.int8
file = converter.convert()
for name, kernels in ("TFLite", OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES), ("XNNPACK", OpResolverType.AUTO):
    interpreter = Interpreter(model_content=file, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    [taken], [made] = interpreter.get_input_details(), interpreter.get_output_details()
    off = []
    for number in range(-128, 128):
        interpreter.set_tensor(taken["index"], np.array([[number]], "int8"))
        interpreter.invoke()
        real = (number - taken["quantization"][1]) * taken["quantization"][0]
        exact = max(real, 0.5 * real) / made["quantization"][0] + made["quantization"][1]
        off.append(abs(int(interpreter.get_tensor(made["index"])[0, 0]) - np.clip(exact, -128, 127)))
    print(f"{name}: expected at most 0.5 step, got {max(off):.3f}")
sys.exit(int(max(off) > 0.51))
