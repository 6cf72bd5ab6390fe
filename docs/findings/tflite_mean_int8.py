"""LiteRT 2.3.0: TFLite's own int8 MEAN over the image rounds what the zero point adds by itself (arguable).

Rule: TFLite's quantization specification, 'real_value = (int8_value - zero_point) * scale', for both tensors of the node:
the mean of integers times the quotient of the scales, rounded to the nearest, is at most half a step off. The kernel for
axes 1 and 2 that keeps the dimensions adds zero_point * scale_in / scale_out after it has rounded it to an integer, so that
every result moves by the same part of a step. The same mean without keeping the dimensions, and XNNPACK, do not.
Arguable, as the specification sets no limit for MEAN.
Upstream: none known.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

rng = np.random.default_rng(0)
images = rng.normal(1.5, 1.0, (32, 1, 8, 8, 6)).astype("float32")


@tf.function(input_signature=[tf.TensorSpec([1, 8, 8, 6], tf.float32)])
def network(x):
    return tf.reduce_mean(x, [1, 2], keepdims=True)


converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: [[image] for image in images]
converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
converter.inference_input_type = converter.inference_output_type = tf.int8
file, worst = converter.convert(), {}
for name, kernels in ("XNNPACK", OpResolverType.AUTO), ("TFLite", OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
    interpreter = Interpreter(model_content=file, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    [taken], [made] = interpreter.get_input_details(), interpreter.get_output_details()
    (before, zero), (after, one) = taken["quantization"], made["quantization"]
    off = []
    for level in range(-70, 40):
        given = np.clip(rng.normal(level, 20, taken["shape"]), -128, 127).astype("int8")
        interpreter.set_tensor(taken["index"], given)
        interpreter.invoke()
        exact = (given - float(zero)).mean((1, 2)).ravel() * before / after + one
        off.append(np.abs(interpreter.get_tensor(made["index"]).ravel() - np.clip(exact, -128, 127)).max())
    worst[name] = max(off)
    print(f"{name}: expected at most 0.5 step, got {worst[name]:.3f}")
sys.exit(int(worst["TFLite"] > 0.51))
