"""LiteRT 2.3.0 (ai-edge-litert): EQUAL of two uint8 tensors without a scale ends the process (SIGABRT).

Rule: ONNX Equal 13 takes uint8, and tf.equal does; an interpreter that does not take a type reports an error.
TensorFlow's converter makes the operator of tf.equal without complaint, and the interpreter allocates it.
Needs tensorflow-cpu==2.21.0, ai-edge-litert==2.3.0 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

spec = tf.TensorSpec([3], tf.uint8)
function = tf.function(lambda x, y: tf.equal(x, y), input_signature=[spec, spec])
content = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()]).convert()
sys.stdout.flush()
pid = os.fork()  # an abort must not end the script
if not pid:
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    for row in interpreter.get_input_details():
        interpreter.set_tensor(row["index"], np.arange(3, dtype=np.uint8))
    interpreter.invoke()
    os._exit(0)
status = os.waitpid(pid, 0)[1]
print("expected [True, True, True], or an exception")
print(
    "got     ", f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"an end with status {status}"
)
sys.exit(int(os.WIFSIGNALED(status)))
