"""onnx 1.23.2, its own reference evaluator: operators that do not compute what the specification says.

Stage run; symptoms below. The evaluator is what other tools are compared with, so each of these is a trap.
- LRN: the loop over channels runs over x.shape[0], the batch: with one image only channel 0 is normalised by its
  squares, and more images than channels raise IndexError (specification: LRN 13, square_sum[n, c, ...]).
- GlobalMaxPool: takes the maximum over axes (rank - 2, rank - 1) counted from the spatial rank: right for images
  [N, C, H, W] only; [N, C, L] gives [N, 1] (GlobalMaxPool 1: N x C x 1 ..., "(N x C x D1 x D2 ... Dn)").
- LpNormalization p = 1: sums x, not |x|: [-2] becomes 1 (L1 norm).
- Mean: adds into a copy of the first operand: [1, 2] and [2, 1] cannot be broadcast (Mean 13: "multidirectional
  (i.e., Numpy-style) broadcasting").
- Softsign, ReduceLogSumExp of a scalar: TypeError, numpy scalars are returned as they are.
- Flatten with no elements, axis in front of a 0: ValueError, reshape (0, -1).
- GatherElements with indices smaller than data apart from the axis: ValueError (GatherElements 13: indices has the
  same rank; sizes may be smaller, as in torch.gather).
Needs: onnx==1.23.2, numpy. Ends with 1 while a defect shows.
"""

import sys

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def run(operator, inputs, **attributes):
    """The operator's first output, or the exception that it raised."""
    names = ["x%d" % index for index in range(len(inputs))]
    kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
    values = [helper.make_tensor_value_info(n, kinds[x.dtype.name], x.shape) for n, x in zip(names, inputs)]
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    try:
        return ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))[0]
    except Exception as error:
        return error


def f32(*values, shape=None):
    return np.array(values, np.float32).reshape(shape if shape is not None else (len(values),))


ones = np.ones((1, 3, 2, 2), np.float32)
square_sum = np.array([2, 3, 2], np.float32).reshape(1, 3, 1, 1)  # of a window of three channels
line = f32(1, 5, 2, 7, 3, 4, shape=(1, 2, 3))
CASES = [
    ("LRN", [ones], {"size": 3, "alpha": 3.0, "beta": 1.0, "bias": 1.0}, ones / (1 + square_sum)),
    ("GlobalMaxPool", [line], {}, line.max(axis=2, keepdims=True)),
    ("LpNormalization", [f32(-2, shape=(1, 1))], {"axis": 1, "p": 1}, f32(-1, shape=(1, 1))),
    ("Mean", [f32(1, 2, shape=(1, 2)), f32(3, 4, shape=(2, 1))], {}, f32(2, 2.5, 2.5, 3, shape=(2, 2))),
    ("Softsign", [f32(1, shape=())], {}, f32(0.5, shape=())),
    ("ReduceLogSumExp", [f32(1, shape=())], {"keepdims": 0}, f32(1, shape=())),
    ("Flatten", [np.empty((0, 3), np.float32)], {"axis": 1}, np.empty((0, 3), np.float32)),
    ("GatherElements", [f32(1, 2, 3, 4, shape=(2, 2)), np.array([[1]], np.int64)], {"axis": 0}, f32(3, shape=(1, 1))),
]
wrong = 0
for operator, inputs, attributes, expected in CASES:
    found = run(operator, inputs, **attributes)
    if isinstance(found, Exception):
        text = "%s: %s" % (type(found).__name__, str(found).splitlines()[0][:80])
    elif not isinstance(found, np.ndarray) and not np.isscalar(found):
        text = "no array: %r" % (found,)
    elif np.shape(found) != expected.shape or not np.allclose(found, expected, rtol=1e-5):
        text = "%s for %s" % (np.asarray(found).tolist(), expected.tolist())
    else:
        text = ""
    wrong += bool(text)
    print("%-16s %s" % (operator, text or "right"))
sys.exit(1 if wrong else 0)
