"""OpenVINO 2026.4.1, ONNX frontend: Attention's causal diagonal is in the wrong place behind a cache, windows are ignored.

ONNX Attention 23: with is_causal a query sees the keys up to its own position, which begins at the length of past_key.
OpenVINO begins at the number of keys minus the number of queries; where a call brings more new keys than queries (4
queries, 6 new keys, 12 cached) every row sees two keys too many, without an error. left_window_size and
right_window_size (Attention 25) are not read: the result is that of no window. Both compared here with numpy.
"""
import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto as T, helper as h

print("openvino", ov.__version__, "onnx", onnx.__version__)
core = ov.Core()


def attention(q, k, v, causal, offset, left=None):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    row, column = np.arange(q.shape[2])[:, None] + offset, np.arange(k.shape[2])[None]
    seen = (column <= row if causal else column >= 0) & (column >= row - left if left is not None else True)
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def run(given, opset, **attributes):
    order = [name if name in given else "" for name in ("q", "k", "v", "mask", "pk", "pv")]
    outputs = ["y", "a", "b"] if "pk" in given else ["y"]
    node = h.make_node("Attention", order if "pk" in given else order[:3], outputs, **attributes)
    graph = h.make_graph([node], "g", [h.make_tensor_value_info(n, T.FLOAT, x.shape) for n, x in given.items()],
                         [h.make_tensor_value_info(n, T.FLOAT, None) for n in outputs])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=11)
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled(given)[0]


rng = np.random.default_rng(0)
draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)
given = {"q": draw(1, 2, 4, 8), "k": draw(1, 2, 6, 8), "v": draw(1, 2, 6, 8), "pk": draw(1, 2, 12, 8), "pv": draw(1, 2, 12, 8)}
y = run(given, 23, is_causal=1)
k, v = np.concatenate([given["pk"], given["k"]], 2), np.concatenate([given["pv"], given["v"]], 2)
for what, offset in (("ONNX, from the cache's length 12", 12), ("from keys minus queries, 14", 14)):
    print("causal behind a cache:", what, "off by", np.abs(y - attention(given["q"], k, v, True, offset)).max())
given = {"q": draw(1, 2, 5, 8), "k": draw(1, 2, 5, 8), "v": draw(1, 2, 5, 8)}
y = run(given, 25, is_causal=1, left_window_size=1)
for what, left in (("ONNX, left_window_size 1", 1), ("no window", None)):
    print("window:", what, "off by", np.abs(y - attention(given["q"], given["k"], given["v"], True, 0, left)).max())
