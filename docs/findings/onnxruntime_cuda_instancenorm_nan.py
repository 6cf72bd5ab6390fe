"""onnxruntime-gpu 1.31.1 on CUDA: InstanceNormalization of one element for each channel is NaN where there are two samples.

Rule: ONNX InstanceNormalization 6, y = scale * (x - mean) / sqrt(variance + epsilon) + B: x is its own mean, so that y is B.
Upstream: https://github.com/microsoft/onnxruntime/issues/8766 tells of NaN for batches (closed as stale).
Needs: a GPU, and pip install 'onnxruntime-gpu[cuda,cudnn]==1.31.1' onnx numpy. Exits with 1 while the defect shows, with 2
where the machine has no GPU.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

one = np.ones(1, "float32")
wrong = False
for samples, size in (1, 1), (2, 1), (2, 4), (1, 4):
    x = np.full((samples, 1, size), 3, "float32")
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (
        ("x", x.shape), ("scale", [1]), ("b", [1]), ("y", x.shape))]  # fmt: skip
    node = helper.make_node("InstanceNormalization", ["x", "scale", "b"], ["y"])
    graph = helper.make_graph([node], "g", ports[:3], ports[3:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
    if "CUDAExecutionProvider" not in session.get_providers():
        print("this machine, or this build of ONNX Runtime, has no CUDA")
        sys.exit(2)
    got = session.run(None, {"x": x, "scale": one, "b": one / 2})[0]
    print(x.shape, "expected", np.full(x.size, 0.5).tolist())
    print(x.shape, "got     ", got.ravel().tolist())
    wrong = wrong or not np.allclose(got, 0.5)
sys.exit(int(wrong))
