"""Apache TVM 0.27.0.post1 (relax ONNX frontend, llvm): attributes and inputs that are ignored without a word.

Every model passes onnx.checker and compiles without a warning; the result is another than the operator's specification says:
- NonMaxSuppression 11: max_output_boxes_per_class, iou_threshold and score_threshold that are graph inputs (or computed)
  are replaced by 0, 0.5 and 0. With 0 boxes per class nothing is selected; with that one constant the threshold is wrong.
- Expand 13: a shape that is a graph input is taken for the result's. ONNX broadcasts both ways, so [3, 1] expanded to
  [2, 1, 6] is [2, 3, 6]; TVM gives [2, 1, 6] with the first row only. As a constant the same shape is right.
- BatchNormalization 15 with training_mode: running statistics are old x (1 - momentum) + batch x momentum; the
  specification says old x momentum + batch x (1 - momentum).
- IsInf 20: detect_negative and detect_positive have no effect.
- SequenceInsert 11: position -1 appends; the specification counts from the back, so it is before the last element.
- ConvTranspose 11: output_shape has no effect.
- Dropout 13: training_mode has no effect (nothing is dropped), and the mask is float32 where the type must be bool.
- LayerNormalization 17: Mean and InvStdDev are the scalar 0.
- BitShift 28 by the width or more, SpaceToDepth 28 with mode CRD: read as the older operators.
Versions: apache-tvm 0.27.0.post1, onnx 1.23.2. Ends with 1 when any of them shows.
"""
import sys

import numpy as np
import onnx
import tvm
from onnx import TensorProto as T, helper as h
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

KINDS = {"float32": T.FLOAT, "int64": T.INT64, "int32": T.INT32, "bool": T.BOOL}
f = lambda *v: np.array(v, np.float32)
i = lambda *v: np.array(v, np.int64)
i32 = lambda *v: np.array(v, np.int32)
wrong = 0


def show(title, nodes, given, want, *, opset, constants=None, others=()):
    """``given``: inputs by name; ``want``: what the specification says of the last output; ``others``: shapes before it."""
    global wrong
    port = lambda name, x: h.make_tensor_value_info(name, KINDS[x.dtype.name], x.shape)
    held = [onnx.numpy_helper.from_array(x, name) for name, x in (constants or {}).items()]
    outputs = [name for name in nodes[-1].output]
    graph = h.make_graph(nodes, "g", [port(n, x) for n, x in given.items()],
                         [h.make_tensor_value_info(*one) for one in zip(outputs, [T.FLOAT] * len(others), others)] + [port(outputs[-1], want)], held)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    found = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())["main"](
        *[tvm.runtime.tensor(x) for x in given.values()])
    got = ([found] if hasattr(found, "numpy") else list(found))[-1].numpy()
    same = got.shape == want.shape and got.dtype == want.dtype and np.allclose(got, want, rtol=1e-5)
    wrong += not same
    print("%s: %s %s %s, right: %s %s %s%s" % (
        title, got.dtype, list(got.shape), got.reshape(-1)[:12].tolist(), want.dtype, list(want.shape),
        want.reshape(-1)[:12].tolist(), "" if same else "   <-- differs"), flush=True)


boxes = f(0, 0, 1, 1, 0, .1, 1, 1.1, 0, -.1, 1, .9, 0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100, 1, 101).reshape(1, 6, 4)
scores = f(.9, .75, .6, .95, .5, .3).reshape(1, 1, 6)
nms = [h.make_node("NonMaxSuppression", ["b", "s", "most", "iou", "low"], ["y"])]
both, most, half, low = {"b": boxes, "s": scores}, i(3), f(.5), f(0)
right = i(0, 0, 3, 0, 0, 0, 0, 0, 5).reshape(3, 3)
show("NonMaxSuppression, constants", nms, both, right, constants={"most": most, "iou": half, "low": low}, opset=11)
show("NonMaxSuppression, inputs", nms, {**both, "most": most, "iou": half, "low": low}, right, opset=11)
show("NonMaxSuppression, overlap 1 as an input", nms, {**both, "iou": f(1)}, i(0, 0, 3, 0, 0, 0, 0, 0, 1).reshape(3, 3),
     constants={"most": most, "low": low}, opset=11)

x = f(1, 2, 3).reshape(3, 1)
wide = np.broadcast_to(x, (2, 3, 6)).copy()
show("Expand, constant", [h.make_node("Expand", ["x", "s"], ["y"])], {"x": x}, wide, constants={"s": i(2, 1, 6)}, opset=13)
show("Expand, input", [h.make_node("Expand", ["x", "s"], ["y"])], {"x": x, "s": i(2, 1, 6)}, wide, opset=13)

x = np.random.default_rng(0).standard_normal((2, 1, 1, 3)).astype(np.float32)
show("BatchNormalization's running variance, momentum 0.9",
     [h.make_node("BatchNormalization", list("xsbmv"), ["z", "u", "y"], training_mode=1)],
     {"x": x, "s": f(1), "b": f(0), "m": f(10), "v": f(10)}, f(10 * 0.9 + x.var() * 0.1), opset=15,
     others=[(2, 1, 1, 3), (1,)])

x = f(-np.inf, np.inf, np.nan, 1)
show("IsInf, detect_negative 0", [h.make_node("IsInf", ["x"], ["y"], detect_negative=0)], {"x": x},
     np.array([False, True, False, False]), opset=20)

show("SequenceInsert at -1",
     [h.make_node("SequenceConstruct", ["a", "b"], ["q"]), h.make_node("SequenceInsert", ["q", "c", "p"], ["r"]),
      h.make_node("ConcatFromSequence", ["r"], ["y"], axis=0)],
     {"a": f(1), "b": f(2), "c": f(3)}, f(1, 3, 2), constants={"p": np.array(-1)}, opset=13)

show("ConvTranspose, output_shape", [h.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2], output_shape=[3])],
     {"x": f(1, 2).reshape(1, 1, 2), "w": f(1, 1, 1).reshape(1, 1, 3)}, f(1, 3, 2).reshape(1, 1, 3), opset=11)

show("Dropout's mask", [h.make_node("Dropout", ["x"], ["z", "y"])], {"x": f(1, 2)}, np.array([True, True]), opset=13,
     others=[(2,)])
show("Dropout of everything but nothing", [h.make_node("Dropout", ["x", "r", "t"], ["y"])], {"x": np.ones(64, np.float32)},
     np.zeros(64, np.float32), constants={"r": np.float32(0.9999999), "t": np.array(True)}, opset=13)

x = f(1, 3, 5, 9).reshape(2, 2)
show("LayerNormalization's Mean", [h.make_node("LayerNormalization", ["x", "s"], ["z", "y"])], {"x": x, "s": f(1, 1)},
     x.mean(1, keepdims=True), opset=17, others=[(2, 2)])

show("BitShift", [h.make_node("BitShift", ["x", "k"], ["y"], direction="LEFT")], {"x": i32(1, 1), "k": i32(31, 33)},
     i32(-2**31, 0), opset=28)
x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
show("SpaceToDepth, CRD", [h.make_node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode="CRD")], {"x": x},
     f(0, 1, 2, 3, 4, 5, 6, 7).reshape(1, 8, 1, 1), opset=28)
print(wrong, "differ")
sys.exit(int(wrong > 0))
