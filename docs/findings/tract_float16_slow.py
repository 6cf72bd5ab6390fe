"""tract 0.23.9 (arguable): a convolution of float16 takes hundreds of times as long as the same one of float32.

Rule: none; float16 is a type of Conv 11. Measured on x86-64, where the processor has instructions that convert float16.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile
import time

import numpy as np
import onnx
import tract
from onnx import numpy_helper

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (TYPE[1,64,28,28] x) => (TYPE[1,64,28,28] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w) }"""

os.chdir(tempfile.mkdtemp())
weights = np.random.default_rng(0).standard_normal((64, 64, 3, 3))
seconds = {}
for dtype, name in ((np.float32, "float"), (np.float16, "float16")):
    model = onnx.parser.parse_model(TEXT.replace("TYPE", name))
    model.graph.initializer.append(numpy_helper.from_array(weights.astype(dtype), "w"))
    onnx.save(model, "m.onnx")
    runnable = tract.onnx().load("m.onnx").into_model().into_runnable()
    image = np.ones((1, 64, 28, 28), dtype)
    runnable.run([image])
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        runnable.run([image])
        taken.append(time.perf_counter() - began)
    seconds[name] = sorted(taken)[1]
ratio = seconds["float16"] / seconds["float"]
print("expected a few times as long as float32")
print(f"got      {ratio:.0f} times: {1e3 * seconds['float16']:.1f} ms and {1e3 * seconds['float']:.1f} ms")
sys.exit(int(ratio > 20))
