"""Rounds the weights of small graphs and evaluates them: prints JSON. Executed in the onnxruntime toolchain.

``python rounding_cases.py``
"""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import numpy as np
import onnx
from onnx import helper as h
from onnx import numpy_helper as n
from onnx.reference import ReferenceEvaluator

from bench_plugin.adapters.onnx_tools.rounding import onnx_computed, onnx_places
from bench_plugin.adapters.onnx_tools.rounding import onnx_rounding as rounding
from bench_plugin.agent.adapter import Unsupported


def model(
    nodes: list[Any], inputs: dict[str, list[Any]], output: list[Any], weights: dict[str, Any], opset: int = 17
) -> Any:
    graph = h.make_graph(
        nodes, "g", [h.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()],
        [h.make_tensor_value_info("y", 1, output)], [n.from_array(value, name) for name, value in weights.items()],
    )  # fmt: skip
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)


def recurrent(operator: str, gates: int, rng: Any, **attributes: Any) -> Any:
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    weights = {"w": single(1, gates * 4, 3), "r": single(1, gates * 4, 4), "b": single(1, gates * 8)}
    node = h.make_node(operator, ["x", "w", "r", "b"], ["", "y"], hidden_size=4, **attributes)
    return model([node], {"x": [5, 1, 3]}, [1, 1, 4], weights)


def cut(rng: Any) -> Any:
    """An LSTM whose weights the graph cuts out of one vector."""
    sizes = {"w": (1, 16, 3), "r": (1, 16, 4), "b": (1, 32)}
    vector = rng.standard_normal(sum(int(np.prod(size)) for size in sizes.values())).astype(np.float32)
    weights = {"all": vector, "split": np.array([int(np.prod(size)) for size in sizes.values()])}
    weights.update({f"{name}_shape": np.array(size) for name, size in sizes.items()})
    nodes = [h.make_node("Split", ["all", "split"], [f"{name}_flat" for name in sizes])]
    nodes += [h.make_node("Reshape", [f"{name}_flat", f"{name}_shape"], [name]) for name in sizes]
    nodes.append(h.make_node("LSTM", ["x", "w", "r", "b"], ["", "y"], hidden_size=4))
    return model(nodes, {"x": [5, 1, 3]}, [1, 1, 4], weights)


def normalised(operator: str, rng: Any, *, biased: bool = False, shared: bool = False) -> Any:
    """A convolution with BatchNormalization behind it; a shared one has another reader, so nothing can be folded."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    channels = (4, 3) if operator == "Conv" else (3, 4)
    weights = {"w": single(*channels, 3, 3), "s": single(4), "t": single(4), "m": single(4), "v": single(4) ** 2}
    weights.update({"c": single(4)} if biased else {})
    size = 6 if operator == "Conv" else 10
    nodes = [
        h.make_node(operator, ["x", "w", *(["c"] if biased else [])], ["conv"]),
        h.make_node("BatchNormalization", ["conv", "s", "t", "m", "v"], ["norm"], epsilon=1e-3),
        h.make_node("Add", ["norm", "conv" if shared else "norm"], ["y"]),
    ]
    return model(nodes, {"x": [1, 3, 8, 8]}, [1, 4, size, size], weights)


def dense(rng: Any, *, transposed: bool, alpha: float = 1.0) -> Any:
    """A product of matrices with BatchNormalization behind it."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    weights = {"w": single(*((5, 4) if transposed else (4, 5))), "c": single(5)}
    weights.update({"s": single(5), "t": single(5), "m": single(5), "v": single(5) ** 2})
    nodes = [
        h.make_node("Gemm", ["x", "w", "c"], ["g"], transB=int(transposed), alpha=alpha),
        h.make_node("BatchNormalization", ["g", "s", "t", "m", "v"], ["y"], epsilon=1e-3),
    ]
    return model(nodes, {"x": [2, 4]}, [2, 5], weights)


def tabular(rng: Any) -> Any:
    """BatchNormalization of a graph's input, and one behind a product of matrices without a bias; two dimensions."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    weights = {"w": single(4, 5)}
    for name, size in (("a", 4), ("b", 5)):
        weights.update({f"{name}{each}": single(size) for each in "stm"} | {f"{name}v": single(size) ** 2 + 1})
    nodes = [
        h.make_node("BatchNormalization", ["x", "as", "at", "am", "av"], ["n"]),
        h.make_node("MatMul", ["n", "w"], ["p"]),
        h.make_node("BatchNormalization", ["p", "bs", "bt", "bm", "bv"], ["y"]),
    ]
    return model(nodes, {"x": [2, 4]}, [2, 5], weights)


def powers(rng: Any) -> Any:
    """A factor that is the power of two nodes of constants, which nothing else reads."""
    nodes = [
        h.make_node("Constant", [], ["base"], value=n.from_array(np.full((), 7.3, np.float32))),
        h.make_node("Constant", [], ["exponent"], value=n.from_array(np.full((), 0.31, np.float32))),
        h.make_node("Pow", ["base", "exponent"], ["root"]), h.make_node("MatMul", ["x", "w"], ["p"]),
        h.make_node("Mul", ["p", "root"], ["y"]),
    ]  # fmt: skip
    return model(nodes, {"x": [2, 4]}, [2, 5], {"w": rng.standard_normal((4, 5)).astype(np.float32)})


def tiny(rng: Any) -> Any:
    """A product with weights of which float16 has only subnormal numbers."""
    weights = rng.standard_normal((4, 5)).astype(np.float32)
    weights[0] = 3.3e-5
    weights[1] = 1 + 2.0**-11, -1 - 2.0**-11, 1 + 3 * 2.0**-11, 1 + 0.9 * 2.0**-11, 2.0**-14
    return model([h.make_node("MatMul", ["x", "w"], ["y"])], {"x": [2, 4]}, [2, 5], {"w": weights})


def divided(rng: Any) -> Any:
    """Layers with a slope, a divisor, a factor and a Constant between them."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    weights = {"w": single(4, 5), "d": single(1), "f": single(), "half": np.full(5, 0.5, np.float32), "v": single(5, 3)}
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["a"]), h.make_node("LeakyRelu", ["a"], ["l"], "leaky"),
        h.make_node("Div", ["l", "d"], ["q"]), h.make_node("Add", ["q", "half"], ["r"]),
        h.make_node("Constant", [], ["k"], value_float=0.3), h.make_node("Pow", ["r", "k"], ["p"]),
        h.make_node("Mul", ["p", "f"], ["m"]), h.make_node("MatMul", ["m", "v"], ["y"]),
    ]  # fmt: skip
    return model(nodes, {"x": [2, 4]}, [2, 3], weights)


def absorbed(rng: Any, places: Any, *, transposed: bool) -> float:
    """How far a layer is, whose weights and bias take in the LayerNormalization before them, from what that gives."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    g, b, w, c, x = single(4), single(4), single(4, 3), single(3), single(5, 4)
    weights = {"g": g, "b": b, "w": w.T if transposed else w, "c": c}
    nodes = [h.make_node("LayerNormalization", ["x", "g", "b"], ["n"]),
             h.make_node("Gemm", ["n", "w", "c"], ["y"], transB=int(transposed))]  # fmt: skip
    graph = model(nodes, {"x": [5, 4]}, [5, 3], weights)
    for place in places(onnx, graph, lambda values: values.astype("float16")):
        if place.name in ("w times g", "c with that of g"):
            place.round(graph)
    even = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    half = lambda values: values.astype("float16").astype("float32")  # noqa: E731
    expected = even @ half(g[:, None] * w) + half(c + b @ w)
    return float(np.abs(ReferenceEvaluator(graph).run(None, {"x": x})[0] - expected).max())


def shared(rng: Any, places: Any) -> float:
    """How far two layers behind a LayerNormalization are, of which one takes it in and one reads it rounded."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    g, b, w, c, v, x = single(4), single(4), single(4, 3), single(3), single(4, 3), single(5, 4)
    nodes = [h.make_node("LayerNormalization", ["x", "g", "b"], ["n"]),
             h.make_node("Gemm", ["n", "w", "c"], ["first"]), h.make_node("MatMul", ["n", "v"], ["second"]),
             h.make_node("Mul", ["first", "second"], ["y"])]  # fmt: skip
    graph = model(nodes, {"x": [5, 4]}, [5, 3], {"g": g, "b": b, "w": w, "c": c, "v": v})
    chosen = ("g", "b", "v", "w times g, which others round", "c with that of g")
    for place in places(onnx, graph, lambda values: values.astype("float16")):
        if place.name in chosen:
            place.round(graph)
    even = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    half = lambda values: values.astype("float16").astype("float32")  # noqa: E731
    expected = (even @ half(g[:, None] * w) + half(c + b @ w)) * ((even * half(g) + half(b)) @ half(v))
    return float(np.abs(ReferenceEvaluator(graph).run(None, {"x": x})[0] - expected).max())


def attended(rng: Any, places: Any, scale: float | None) -> float:
    """How far an Attention is whose queries' layer takes in the root of the scale, which is rounded for the keys."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    wq, bq, wk, wv, x = single(6, 6), single(6), single(6, 6), single(6, 6), single(5, 6)
    nodes = [h.make_node("MatMul", ["x", "wq"], ["m"]), h.make_node("Add", ["m", "bq"], ["q"]),
             h.make_node("MatMul", ["x", "wk"], ["k"]), h.make_node("MatMul", ["x", "wv"], ["v"]),
             *(h.make_node("Unsqueeze", [name, "first"], [f"{name}3"]) for name in "kv"),
             h.make_node("Reshape", ["q", "batched"], ["q3"]),
             h.make_node("Attention", ["q3", "k3", "v3"], ["y"], q_num_heads=1, kv_num_heads=1,
                         **({} if scale is None else {"scale": scale}))]  # fmt: skip
    weights = {"wq": wq, "bq": bq, "wk": wk, "wv": wv, "first": np.array([0]), "batched": np.array([1, 5, 6])}
    graph = model(nodes, {"x": [5, 6]}, [1, 5, 6], weights, opset=23)
    root = np.sqrt(np.float32(6**-0.5 if scale is None else scale))
    names = ["the root of y.scale", "wq times the root of y.scale", "bq with that of the root of y.scale"]
    for place in places(onnx, graph, lambda values: values.astype("float16")):
        if place.name in names:
            names.remove(place.name)
            place.round(graph)
    assert not names, names
    half = lambda values: values.astype("float16").astype("float32")  # noqa: E731
    scores = (x @ half(wq * root) + half(bq * root)) @ (x @ wk * half(root)).T
    shares = np.exp(scores - scores.max(1, keepdims=True))
    expected = shares / shares.sum(1, keepdims=True) @ (x @ wv)
    return float(np.abs(ReferenceEvaluator(graph).run(None, {"x": x})[0][0] - expected).max())


def gated(rng: Any, places: Any) -> float:
    """How far a convolution is that takes in the factor and the sum of the HardSigmoid behind it."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    w, c, x = single(3, 4, 1, 1), single(3), single(2, 4, 5, 5)
    nodes = [h.make_node("Conv", ["x", "w", "c"], ["g"]), h.make_node("HardSigmoid", ["g"], ["y"], alpha=1 / 6)]
    graph = model(nodes, {"x": [2, 4, 5, 5]}, [2, 3, 5, 5], {"w": w, "c": c})
    for place in places(onnx, graph, lambda values: values.astype("float16")):
        if place.name in ("w times y.alpha", "c with y.beta"):
            place.round(graph)
    half = lambda values: values.astype("float16").astype("float32")  # noqa: E731
    sums = np.einsum("nchw,oc->nohw", x, half(w / 6)[:, :, 0, 0]) + half(c / 6 + 0.5)[:, None, None]
    return float(np.abs(ReferenceEvaluator(graph).run(None, {"x": x})[0] - np.clip(sums, 0, 1)).max())


def computed(rng: Any, store: Any) -> dict[str, Any]:
    """What is left of a graph that computes constants from others; a random one and a Constant stay."""
    values = rng.standard_normal(3).astype(np.float32)
    nodes = [h.make_node("Exp", ["s"], ["e"]), h.make_node("Constant", [], ["two"], value_float=2.0),
             h.make_node("Mul", ["e", "two"], ["d"]), h.make_node("RandomNormal", [], ["r"], shape=[3]),
             h.make_node("Mul", ["x", "d"], ["m"]), h.make_node("Add", ["m", "r"], ["y"])]  # fmt: skip
    graph = model(nodes, {"x": [2, 3]}, [2, 3], {"s": values})
    store(onnx, graph)
    stored = {tensor.name: n.to_array(tensor) for tensor in graph.graph.initializer}
    return {"nodes": [node.op_type for node in graph.graph.node], "stored": sorted(stored),
            "off": float(np.abs(stored["d"] - 2 * np.exp(values)).max())}  # fmt: skip


def looped(rng: Any) -> Any:
    """A weight that only the body of a Loop reads, as torch exports EmbeddingBag."""
    value = h.make_tensor_value_info
    body = h.make_graph(
        [h.make_node("Identity", ["go"], ["still"]), h.make_node("MatMul", ["before", "w"], ["after"])],
        "body",
        [value("i", 7, []), value("go", 9, []), value("before", 1, [2, 4])],
        [value("still", 9, []), value("after", 1, [2, 4])],
    )
    weights = {"w": rng.standard_normal((4, 4)).astype(np.float32), "count": np.array(3), "true": np.array(True)}
    return model([h.make_node("Loop", ["count", "true", "x"], ["y"], body=body)], {"x": [2, 4]}, [2, 4], weights)


def scaled(rng: Any) -> Any:
    """A layer with a bias behind it, and vectors that are multiplied and added, one with further dimensions of one."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["p"]), h.make_node("Add", ["p", "b"], ["s"]),
        h.make_node("Relu", ["s"], ["t"]), h.make_node("Mul", ["t", "g"], ["m"]), h.make_node("Add", ["m", "c"], ["y"]),
    ]  # fmt: skip
    return model(nodes, {"x": [2, 4]}, [2, 5], {"w": single(4, 5), "b": single(5), "g": single(1, 5), "c": single(5)})


def tempered(rng: Any) -> Any:
    """A product of matrices, its bias in a sum, and a quotient by one number, as of a softmax with a temperature."""
    weights = {"w": rng.standard_normal((4, 5)).astype(np.float32), "c": rng.standard_normal(5).astype(np.float32)}
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["p"]), h.make_node("Add", ["p", "c"], ["s"]),
        h.make_node("Div", ["s", "k"], ["y"]),
    ]  # fmt: skip
    return model(nodes, {"x": [2, 4]}, [2, 5], {**weights, "k": np.float32(1.1)})


def constant(rng: Any) -> Any:
    """A convolution with BatchNormalization, and a node without an input, as exporters write constants."""
    made = normalised("Conv", rng)
    one = h.make_node("Constant", [], ["one"], value=n.from_array(np.ones(1, np.float32)))
    last = made.graph.node[-1]
    name, last.output[0] = last.output[0], "before"
    made.graph.node.insert(0, one)
    made.graph.node.append(h.make_node("Mul", ["before", "one"], [name]))
    return made


def multiplied(operator: str, rng: Any, factors: tuple[int, ...]) -> Any:
    """A convolution, a product and a sum, as tf2onnx writes BatchNormalization."""
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    channels, size = ((4, 3), 6) if operator == "Conv" else ((3, 4), 10)
    weights = {"w": single(*channels, 3, 3), "g": single(*factors), "c": single(1, 4, 1, 1)}
    nodes = [
        h.make_node(operator, ["x", "w"], ["conv"]), h.make_node("Mul", ["g", "conv"], ["times"]),
        h.make_node("Add", ["times", "c"], ["y"]),
    ]  # fmt: skip
    return model(nodes, {"x": [1, 3, 8, 8]}, [1, 4, size, size], weights)


def written_out(rng: Any) -> Any:
    """A product with a weight that is a node of the graph."""
    weight = n.from_array(rng.standard_normal((4, 5)).astype(np.float32))
    nodes = [h.make_node("Constant", [], ["w"], value=weight), h.make_node("MatMul", ["x", "w"], ["y"])]
    return model(nodes, {"x": [2, 4]}, [2, 5], {})


def tied() -> Any:
    """Two convolutions with one weight and one bias, each with a factor of its own behind it, as a detector has."""
    rng = np.random.default_rng(1)
    single = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    weights = {"w": single(4, 3, 3, 3), "b": single(4), "g": np.float32(0.7), "k": np.float32(1.3)}
    nodes = []
    for factor in "gk":
        nodes += [
            h.make_node("Conv", ["x", "w", "b"], [f"c{factor}"]),
            h.make_node("Mul", [f"c{factor}", factor], [f"m{factor}"]),
        ]
    nodes.append(h.make_node("Concat", ["mg", "mk"], ["y"], axis=1))
    return model(nodes, {"x": [1, 3, 8, 8]}, [1, 8, 6, 6], weights)


def sized() -> Any:
    """A product whose factor is the root of the width of the input, as exporters write an attention."""
    nodes = [
        h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "last"], ["width"]),
        h.make_node("Cast", ["width"], ["f"], to=1), h.make_node("Sqrt", ["f"], ["root"]),
        h.make_node("MatMul", ["x", "w"], ["p"]), h.make_node("Mul", ["p", "root"], ["y"]),
    ]  # fmt: skip
    weight = np.random.default_rng(2).standard_normal((5, 5)).astype(np.float32)
    return model(nodes, {"x": ["batch", 5]}, ["batch", 5], {"w": weight, "last": np.array(1)})


def refused(rng: Any) -> dict[str, str]:
    """Why files with weights of these types have no w16; empty where they have one."""
    single = rng.standard_normal((4, 5)).astype(np.float32)
    last = h.make_node("MatMul", ["x", "w"], ["y"])
    kinds = {
        "integers": ([h.make_node("DequantizeLinear", ["q", "s"], ["w"]), last],
                     {"q": single.astype(np.int8), "s": np.float32(0.1)}),
        "vectors": ([h.make_node("Mul", ["x", "v"], ["y"])], {"v": single[0, :4]}),
        "halves": ([h.make_node("Cast", ["q"], ["w"], to=1), last], {"q": single.astype(np.float16)}),
    }  # fmt: skip
    said = {}
    for kind, (nodes, weights) in kinds.items():
        try:
            rounding.rounded(onnx, model(nodes, {"x": [2, 4]}, [2, 4 if kind == "vectors" else 5], weights), "w16")
            said[kind] = ""
        except Unsupported as why:
            said[kind] = str(why)
    return said


def main() -> None:
    rng = np.random.default_rng(0)
    graphs = {
        "lstm": recurrent("LSTM", 4, rng), "gru": recurrent("GRU", 3, rng, linear_before_reset=1), "cut": cut(rng),
        "conv": normalised("Conv", rng), "biased": normalised("Conv", rng, biased=True),
        "transposed": normalised("ConvTranspose", rng), "shared": normalised("Conv", rng, shared=True),
        "dense": dense(rng, transposed=False), "rowwise": dense(rng, transposed=True),
        "weighed": dense(rng, transposed=False, alpha=0.5), "tiny": tiny(rng), "looped": looped(rng),
        "scaled": scaled(rng), "multiplied": multiplied("Conv", rng, (1, 4, 1, 1)),
        "spread": multiplied("ConvTranspose", rng, (4, 1, 1)), "rows": multiplied("Conv", rng, (1, 1, 6, 1)),
        "tabular": tabular(rng), "tempered": tempered(rng), "constant": constant(rng),
        "third": dense(rng, transposed=False, alpha=0.3), "written out": written_out(rng),
        "tied": tied(),
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, graph in graphs.items():
        shape = [dim.dim_value for dim in graph.graph.input[0].type.tensor_type.shape.dim]
        x = rng.standard_normal(shape).astype(np.float32)
        exact = ReferenceEvaluator(graph).run(None, {"x": x})[0]
        for steps in ("w16", "w16-all", "w16-cut", "w16-flush", "w16+summed", "w16+computed", "w16+folded",
                      "w16-all+folded+summed", "w16-all+scaled", "w16-all+only-1"):  # fmt: skip
            changed = rounding.rounded(onnx, copy.deepcopy(graph), steps)
            onnx.checker.check_model(changed)
            y = ReferenceEvaluator(changed).run(None, {"x": x})[0]
            halves = {
                t.name: list(t.dims) for t in changed.graph.initializer if t.data_type == onnx.TensorProto.FLOAT16
            }
            stored = {t.name: n.to_array(t).astype(np.float64) for t in changed.graph.initializer}
            given = {t.name: n.to_array(t).astype(np.float64) for t in graph.graph.initializer}
            found[f"{name} {steps}"] = {
                "off": float(np.abs(y - exact).max() / np.abs(exact).max()), "halves": halves,
                "operators": [node.op_type for node in changed.graph.node],
                "beyond": any((np.abs(stored[key + "_float16"]) > np.abs(value)).any()
                              for key, value in given.items() if key + "_float16" in stored),
                "least": min((float(np.abs(value[value != 0]).min()) for key, value in stored.items()
                              if key.endswith("_float16") and value.any()), default=0.0),
                "seconds": stored["w_float16"][1].tolist() if name == "tiny" and "w_float16" in stored else [],
                "changed": sorted(key for key, value in given.items()
                                  if key in stored and (stored[key] != value).any()),
            }  # fmt: skip
    convert = rounding.converter("w16-all")
    made = onnx_places.places
    for name in ("tiny", "dense", "divided", "looped"):
        graph = graphs[name] if name in graphs else divided(rng)
        places = made(onnx, graph, convert)
        found[name] = [[place.name, place.weight, place.of] for place in places]
    whole = rounding.unrounded(onnx, sized(), "w16-all")
    found["sized"] = [[place.name, place.weight, place.of] for place in made(onnx, whole, convert)]
    kept = powers(np.random.default_rng(5))
    onnx_computed.store(onnx, kept)
    found["powers"] = [[place.name, place.weight, place.of] for place in made(onnx, kept, convert)]
    found["refused"] = refused(rng)
    found["absorbed"] = [absorbed(rng, made, transposed=transposed) for transposed in (False, True)]
    found["shared"] = shared(rng, made)
    found["attended"] = [attended(rng, made, scale) for scale in (None, 0.31)]
    found["gated"] = gated(rng, made)
    found["computed"] = computed(rng, onnx_computed.store)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
