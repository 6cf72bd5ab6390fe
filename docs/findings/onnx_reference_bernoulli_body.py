"""onnx 1.23.2: the function body of Bernoulli gives 1 with the probability 1 - p.

Rule: ONNX Bernoulli 15 and 22: "an output of 1 is produced with probability p". The body compares a random number with
p by Greater, which is true with the probability 1 - p: where p is 0 it gives 1, and where p is 1 it gives 0. The
evaluator's own Bernoulli is right; a tool that takes the body has it the wrong way round, as onnxruntime 1.31.1 (opset
21) and OpenVINO 2026.4.1. No known failure shows it, for only types and shapes of random results are compared.
Upstream: none known.
Needs onnx==1.23.2 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys
import warnings

import numpy as np
from onnx.backend.test import loader
from onnx.reference import ReferenceEvaluator

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
model = models["test_bernoulli_expanded"]  # the node replaced by its function body
p = np.repeat([0.0, 1.0], 5)
y = ReferenceEvaluator(model).run(None, {"x": p})[0]
print("expected", p.tolist())
print("got     ", y.tolist())
sys.exit(int(not np.array_equal(y, p)))
