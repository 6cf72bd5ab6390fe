"""onnxruntime-gpu 1.31.1 on CUDA: Max and Min of three operands that are broadcast against each other give wrong numbers.

Rule: ONNX Max 13, "Element-wise max of each of the input tensors (with Numpy-style broadcasting support)". The script takes
all shapes of one to three dimensions of 1 or 2: those that fail have three dimensions. Two operands are right.
Upstream: none known.
Needs: a GPU, and pip install 'onnxruntime-gpu[cuda,cudnn]==1.31.1' onnx numpy. Exits with 1 while the defect shows, with 2
where the machine has no GPU.
"""

import itertools
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

rng = np.random.default_rng(0)
wrong = []
for dimensions in 1, 2, 3:
    for shapes in itertools.product(itertools.product((1, 2), repeat=dimensions), repeat=3):
        given = {name: rng.standard_normal(shape).astype("float32") for name, shape in zip("abc", shapes)}
        expected = np.maximum(np.maximum(given["a"], given["b"]), given["c"])
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in given.items()]
        result = helper.make_tensor_value_info("y", TensorProto.FLOAT, expected.shape)
        graph = helper.make_graph([helper.make_node("Max", list("abc"), ["y"])], "g", ports, [result])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
        if "CUDAExecutionProvider" not in session.get_providers():
            print("this machine, or this build of ONNX Runtime, has no CUDA")
            sys.exit(2)
        got = session.run(None, given)[0]
        if not np.array_equal(expected, got):
            wrong.append((shapes, expected.ravel().tolist(), got.ravel().tolist()))
print(len(wrong), "shapes are wrong")
for shapes, expected, got in wrong[:1]:
    print(*shapes, "expected", expected)
    print(*shapes, "got     ", got)
sys.exit(int(bool(wrong)))
