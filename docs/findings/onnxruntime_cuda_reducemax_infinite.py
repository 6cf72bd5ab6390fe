"""onnxruntime-gpu 1.31.1 on CUDA: ReduceMax of nothing but -Inf is -3.4028235e38, and ReduceMin of Inf 3.4028235e38.

Rule: ONNX ReduceMax 13, "Computes the max of the input tensor's elements": the result is one of them. What compares it with
-Inf, as the expanded Attention does to find rows that are masked throughout, takes the wrong branch.
Upstream: https://github.com/microsoft/onnxruntime/issues/32256
Needs: a GPU, and pip install 'onnxruntime-gpu[cuda,cudnn]==1.31.1' onnx numpy. Exits with 1 while the defect shows, with 2
where the machine has no GPU.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

shows = False
for operator, infinite in ("ReduceMax", -np.inf), ("ReduceMin", np.inf):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], axes=[1])], "g", ports[:1], ports[1:])
    graph.output[0].type.tensor_type.shape.dim[1].dim_value = 1
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    got = {}
    for provider in "CUDAExecutionProvider", "CPUExecutionProvider":
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=[provider])
        if provider not in session.get_providers():
            print("this machine, or this build of ONNX Runtime, has no", provider)
            sys.exit(2)
        got[provider] = float(session.run(None, {"x": np.full((1, 4), infinite, "float32")})[0][0, 0])
    print(operator, "expected", infinite)
    print(operator, "got     ", got)
    shows = shows or got["CUDAExecutionProvider"] != infinite
sys.exit(int(shows))
