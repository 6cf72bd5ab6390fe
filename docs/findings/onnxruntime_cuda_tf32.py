"""onnxruntime-gpu 1.31.1 on CUDA: as released, products of float32 are rounded to the 10 bits of TF32 (arguable).

Rule: ONNX MatMul 13 has no precision other than that of its type; float32 has 23 bits. The option use_tf32=0 of the provider
gives them.
Upstream: none known
Needs: a GPU of NVIDIA's Ampere generation or later, and pip install 'onnxruntime-gpu[cuda,cudnn]==1.31.1' onnx numpy. Exits
with 1 while products are rounded, with 2 where the machine has no GPU.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

a, b = np.random.default_rng(0).standard_normal((2, 256, 256)).astype("float32")
exact = a.astype("float64") @ b.astype("float64")
ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [256, 256]) for name in "aby"]
graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", ports[:2], ports[2:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
got = {}
for name, chosen in ("as released", {}), ("use_tf32=0", {"use_tf32": "0"}):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=[("CUDAExecutionProvider", chosen)])
    if "CUDAExecutionProvider" not in session.get_providers():
        print("this machine, or this build of ONNX Runtime, has no CUDA")
        sys.exit(2)
    got[name] = float(np.abs(session.run(None, {"a": a, "b": b})[0] - exact).max() / np.abs(exact).max())
print("expected a largest error of about 1e-7 of the largest element")
print("got     ", got)
sys.exit(int(got["as released"] > 1e-5))
