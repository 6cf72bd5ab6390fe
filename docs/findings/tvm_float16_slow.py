"""apache-tvm 0.27.0.post1 (arguable): a convolution of float16 takes a multiple of the time of the same one of float32.

Rule: none; float16 is a type of Conv 11. Measured on x86-64, whose instructions convert float16: every product and every
sum is converted by itself.
Upstream: none known.
Needs: pip install apache-tvm==0.27.0.post1 onnx numpy. Exits with 1 while the defect shows.
"""

import sys
import time

import numpy as np
import onnx
import tvm
from onnx import numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (TYPE[1,64,28,28] x) => (TYPE[1,64,28,28] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w) }"""

weights = np.random.default_rng(0).standard_normal((64, 64, 3, 3))
seconds = {}
for dtype, name in ((np.float32, "float"), (np.float16, "float16")):
    model = onnx.parser.parse_model(TEXT.replace("TYPE", name))
    model.graph.initializer.append(numpy_helper.from_array(weights.astype(dtype), "w"))
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
    machine = relax.VirtualMachine(relax.build(from_onnx(model), target), tvm.cpu())
    image = tvm.runtime.tensor(np.ones((1, 64, 28, 28), dtype))
    machine["main"](image)
    taken = []
    for _ in range(5):
        began = time.process_time()
        machine["main"](image)
        taken.append(time.process_time() - began)
    seconds[name] = sorted(taken)[2]
ratio = seconds["float16"] / seconds["float"]
print("expected as long as float32, or less")
print(f"got      {ratio:.1f} times: {1e3 * seconds['float16']:.1f} ms and {1e3 * seconds['float']:.1f} ms of the processor")
sys.exit(int(ratio > 1.5))
