"""onnxruntime-gpu 1.31.1 on CUDA: ReduceSum, ReduceMax and ReduceMin of int64 lose the digits beyond the 53 bits of a double.

Rule: ONNX ReduceMax 13, ReduceMin 13 and ReduceSum 13 have int64 among their types; the result is exact.
Upstream: https://github.com/microsoft/onnxruntime/pull/28681 computes them in double (merged), and says so.
Needs: a GPU, and pip install 'onnxruntime-gpu[cuda,cudnn]==1.31.1' onnx numpy. Exits with 1 while the defect shows, with 2
where the machine has no GPU.
"""

import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.array([2**60 + 1, 3], np.int64)
wrong = False
for operator, expected in ("ReduceSum", 2**60 + 4), ("ReduceMax", 2**60 + 1), ("ReduceMin", -(2**60) - 1):
    given = -x if operator == "ReduceMin" else x
    ports = [helper.make_tensor_value_info(name, TensorProto.INT64, [size]) for name, size in (("x", 2), ("y", 1))]
    node = helper.make_node(operator, ["x"], ["y"])
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
    if "CUDAExecutionProvider" not in session.get_providers():
        print("this machine, or this build of ONNX Runtime, has no CUDA")
        sys.exit(2)
    got = int(session.run(None, {"x": given})[0][0])
    print(operator, "expected", expected)
    print(operator, "got     ", got)
    wrong = wrong or got != expected
sys.exit(int(wrong))
