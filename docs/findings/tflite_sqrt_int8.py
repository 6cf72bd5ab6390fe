"""LiteRT 2.3.0: SQRT of int8 rounds down, where the other functions of one value round to the nearest integer.

Rule: TFLite's quantization specification, 'real_value = (int8_value - zero_point) * scale', for both tensors of the node:
the nearest integer is at most half a step off, as that of RSQRT is.
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

images = np.linspace(0.3, 4, 256, dtype="float32")[None]
worst = {}
for name, function, exact in ("RSQRT", tf.math.rsqrt, lambda v: v**-0.5), ("SQRT", tf.sqrt, np.sqrt):
    network = tf.function(function, input_signature=[tf.TensorSpec([1, 256], tf.float32)])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: [[images]]
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    file = converter.convert()
    for kernels in OpResolverType.AUTO, OpResolverType.BUILTIN_REF:
        interpreter = Interpreter(model_content=file, experimental_op_resolver_type=kernels)
        interpreter.allocate_tensors()
        [taken], [made] = interpreter.get_input_details(), interpreter.get_output_details()
        (before, zero), (after, one) = taken["quantization"], made["quantization"]
        given = np.arange(max(zero + 1, -128), 128).astype("int8")
        given = np.resize(given, (1, 256))
        interpreter.set_tensor(taken["index"], given)
        interpreter.invoke()
        steps = np.clip(exact((given - float(zero)) * before) / after + one, -128, 127)
        off = interpreter.get_tensor(made["index"]) - steps
        worst[name] = float(abs(off).max())
        print(f"{name}, {kernels.name}: expected at most 0.5 step, got {off.min():.3f} to {off.max():.3f}")
sys.exit(int(worst["SQRT"] > 0.51))
