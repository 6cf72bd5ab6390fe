"""One node that the tool refuses, or that crashes or hangs it: 1 when the defect shows, 0 when it does not."""

import os
import signal
import sys

import numpy as np

if not (child := os.fork()):
    signal.alarm(SECONDS)
    run(os.path.join(HERE, "model.onnx"), dict(zip(INPUTS, np.load(os.path.join(HERE, "inputs.npz")).values())))
    os._exit(0)
status = os.waitpid(child, 0)[1]
ended = {"crash": os.WIFSIGNALED(status), "timeout": status == signal.SIGALRM, "exception": os.WIFEXITED(status)}
happened = SYMPTOM if status and ended[SYMPTOM] else "another failure" if status else "no defect"
print(f"expected: it runs\ngot: status {status}\nhappened: {happened}")
sys.exit((1 if ended[SYMPTOM] else 3) if status else 0)
