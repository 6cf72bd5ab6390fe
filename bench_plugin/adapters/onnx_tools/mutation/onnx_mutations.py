"""The mutations of an ONNX graph: each makes one mistake of the kind that converters make, and can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench_plugin.adapters.onnx_tools.mutation import onnx_branches, onnx_trees
from bench_plugin.adapters.onnx_tools.mutation.onnx_editing import (
    FLOAT,
    HALF,
    RECURRENT,
    Graph,
    Mutated,
    site_of,
    together,
)
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_mutations",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Mutations of ONNX graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_branches", "onnx_editing", "onnx_trees"],
}

NORMS = ("LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization")
SCALED, ALIGNED, TREE = "weights x 1.01", "resize alignment", "tree left out"
SMALL, LARGE = 5e-4, 1e-3  # an epsilon below the first is set to the second
TINY = 1e-10  # what an epsilon is set to that is larger: MNN takes it where a file leaves the attribute out


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def scaled(graph: Graph, turn: int, factor: float = 1.01) -> Mutated:
    """The weights of one layer times a factor: of the layer in the middle at turn 0, then of others, the next first."""
    layers = graph.scaled()
    middle = len(layers) // 2
    nearest = sorted(range(len(layers)), key=lambda place: (abs(place - middle), place < middle))
    if turn >= len(layers):
        return None
    node, weight = layers[nearest[turn]]
    return site_of(node), graph.change(weight, lambda values: values * values.dtype.type(factor))


def _zeroed(graph: Graph, turn: int) -> Mutated:
    def zero(weight: Any, axis: int) -> Any:
        moved = _moved(weight, axis)
        moved[_largest(moved, turn)] = 0
        return weight

    return _on_middle(graph, zero)


def _swapped(graph: Graph, turn: int) -> Mutated:
    def swap(weight: Any, axis: int) -> Any:
        moved = _moved(weight, axis)
        pair = [_largest(moved, 0), _largest(moved, 1 + turn)]
        moved[pair] = moved[pair[::-1]]
        return weight

    middle = graph.middle()
    if middle is None:
        return None
    channels = middle[1].dims[1:] if middle[0].op_type in RECURRENT else middle[1].dims[:2]
    return _on_middle(graph, swap) if min(channels) > 1 else None


def _classes_swapped(graph: Graph, turn: int) -> Mutated:
    layers = graph.layers()
    if not layers:
        return None
    node, weight = layers[-1]
    axis = _output_axis(graph, node)
    pair = _alike(_moved(graph.values(weight), axis), turn)
    if pair is None:
        return None

    def swap(values: Any) -> Any:
        moved = _moved(values, axis)
        moved[list(pair)] = moved[list(reversed(pair))]
        return values

    return f"{site_of(node)}, channels {pair[0]} and {pair[1]}", graph.change(weight, swap)


def _bias_dropped(graph: Graph, turn: int) -> Mutated:
    found = graph.bias()
    return (site_of(found[0]), graph.change(found[1], lambda values: values * 0)) if found else None


def _bias_in_half(graph: Graph, turn: int) -> Mutated:
    found = graph.bias()
    if (
        found is None
        or found[1].data_type != FLOAT
        or (_halved(graph.values(found[1])) == graph.values(found[1])).all()
    ):
        return None
    return site_of(found[0]), graph.change(found[1], _halved)


def _layer_in_half(graph: Graph, turn: int) -> Mutated:
    """The last layer with a weight, computed as in float16: its input, its weight and its result are rounded."""
    layers = [(node, weight) for node, weight in graph.layers() if weight.data_type == FLOAT]
    if not layers:
        return None
    late, weight = layers[-1]
    output, site = late.output[0], site_of(late)

    def rewire(nodes: list[Any]) -> list[Any]:
        found = []
        for node in nodes:
            if node.output[0] != output:
                found.append(node)
                continue
            found += _through_half(graph.onnx, node.input[0], output + "_half_in")
            node.input[0] = output + "_half_in"
            node.output[0] = output + "_single"
            found += [node, *_through_half(graph.onnx, node.output[0], output)]
        return found

    return site, together([graph.rewired(rewire), graph.change(weight, _halved)])


def _through_half(onnx: Any, source: str, target: str) -> list[Any]:
    between = target + "_half"
    return [
        onnx.helper.make_node("Cast", [source], [between], to=HALF),
        onnx.helper.make_node("Cast", [between], [target], to=FLOAT),
    ]


def _halved(values: Any) -> Any:
    return values.astype("float16").astype(values.dtype)


def _epsilon(graph: Graph, turn: int) -> Mutated:
    return _larger(graph, graph.nodes("BatchNormalization"))


def _tiny_epsilon(graph: Graph, turn: int) -> Mutated:
    return _smaller(graph, graph.nodes("BatchNormalization"))


def _norm_epsilon(graph: Graph, turn: int) -> Mutated:
    """The epsilon of every other norm, also of one that is written with the root of a sum."""
    return _larger(graph, graph.nodes(*NORMS)) or _constants(graph, _written(graph), LARGE)


def _tiny_norm_epsilon(graph: Graph, turn: int) -> Mutated:
    return _smaller(graph, graph.nodes(*NORMS)) or _constants(graph, _written(graph), TINY)


def _written(graph: Graph) -> dict[str, Any]:
    """The constants, by name, that are added under a root and are as small as an epsilon."""
    roots = {name for node in graph.nodes("Sqrt") for name in node.input}
    added = [node.input for node in graph.nodes("Add") if node.output[0] in roots]
    tensors = {name: graph.weights[name] for names in added for name in names if name in graph.weights}
    return {
        name: tensor
        for name, tensor in tensors.items()
        if tensor.data_type == FLOAT and 0 < graph.values(tensor).max(initial=0) < SMALL
    }


def _constants(graph: Graph, tensors: dict[str, Any], value: float) -> Mutated:
    if not tensors:
        return None
    undoes = [
        graph.change(tensor, lambda values: values * 0 + type(values.flat[0])(value)) for tensor in tensors.values()
    ]
    return f"{len(tensors)} constants", together(undoes)


def _larger(graph: Graph, nodes: list[Any]) -> Mutated:
    return _epsilons(graph, [node for node in nodes if graph.value(node, "epsilon", 1e-5) < SMALL], LARGE)


def _smaller(graph: Graph, nodes: list[Any]) -> Mutated:
    """Of the nodes that leave their epsilon out, if there are such: a tool may have another default."""
    left_out = [node for node in nodes if graph.value(node, "epsilon", None) is None]
    return _epsilons(graph, left_out or [node for node in nodes if graph.value(node, "epsilon", 0.0) > 2 * TINY], TINY)


def _epsilons(graph: Graph, nodes: list[Any], value: float) -> Mutated:
    if not nodes:
        return None
    return f"{len(nodes)} nodes", together([graph.attribute(node, "epsilon", value) for node in nodes])


def _ties(graph: Graph, turn: int) -> Mutated:
    """Of equal largest elements the last one in place of the first."""
    for node in graph.nodes("ArgMax", "ArgMin"):
        turned = 1 - int(graph.value(node, "select_last_index", 0))
        return site_of(node), graph.attribute(node, "select_last_index", turned)
    return None


def _count_include_pad(graph: Graph, turn: int) -> Mutated:
    pools = [node for node in graph.nodes("AveragePool") if any(graph.value(node, "pads", []))]
    if not pools:
        return None
    turned = 1 - int(graph.value(pools[0], "count_include_pad", 0))
    return site_of(pools[0]), graph.attribute(pools[0], "count_include_pad", turned)


def _same_lower(graph: Graph, turn: int) -> Mutated:
    """Padding that is uneven, put on the other side (SAME_UPPER for SAME_LOWER)."""
    for node in graph.nodes("Conv", "MaxPool", "AveragePool"):
        auto = graph.value(node, "auto_pad", b"NOTSET")
        if auto in (b"SAME_UPPER", b"SAME_LOWER"):
            other = "SAME_LOWER" if auto == b"SAME_UPPER" else "SAME_UPPER"
            return site_of(node), graph.attribute(node, "auto_pad", other)
        pads = list(graph.value(node, "pads", []))
        half = len(pads) // 2
        if pads[:half] != pads[half:]:
            return site_of(node), graph.attribute(node, "pads", pads[half:] + pads[:half])
    return None


def _gelu(graph: Graph, turn: int) -> Mutated:
    for node in graph.nodes("Gelu"):
        other = "none" if graph.value(node, "approximate", b"none") == b"tanh" else "tanh"
        return site_of(node), graph.attribute(node, "approximate", other)
    return None


def _resize(graph: Graph, turn: int) -> Mutated:
    """Another alignment of one Resize, of the last one at turn 0."""
    nodes = graph.nodes("Resize")[::-1]
    if turn >= len(nodes):
        return None
    node = nodes[turn]
    align = graph.value(node, "coordinate_transformation_mode", b"half_pixel") == b"align_corners"
    mode = "half_pixel" if align else "align_corners"
    return site_of(node), graph.attribute(node, "coordinate_transformation_mode", mode)


# Names are part of the results: bench_plugin/compare/table.py says what kind of mistake each of them is.
MUTANTS: dict[str, Callable[[Graph, int], Mutated]] = {
    "residual branch zeroed": onnx_branches.residual_zeroed,
    "parallel branch zeroed": onnx_branches.parallel_zeroed,
    "branch of If replaced": onnx_branches.if_decided,
    "batchnorm eps 1e-3": _epsilon,
    "layernorm eps 1e-3": _norm_epsilon,
    "batchnorm eps 1e-10": _tiny_epsilon,
    "layernorm eps 1e-10": _tiny_norm_epsilon,
    "bias dropped": _bias_dropped,
    "bias in float16": _bias_in_half,
    "channel zeroed": _zeroed,
    "channels swapped": _swapped,
    "classes swapped": _classes_swapped,
    SCALED: scaled,
    "last layer in float16": _layer_in_half,
    "count_include_pad": _count_include_pad,
    "same upper or lower": _same_lower,
    "gelu erf or tanh": _gelu,
    ALIGNED: _resize,
    "argmax ties": _ties,
    TREE: onnx_trees.left_out,
    "tree < or <=": onnx_trees.turned,
}


def _largest(weight: Any, rank: int) -> int:
    """The channel (axis 0) with the largest weights, or the next ones after it."""
    import numpy as np

    norms = (weight.reshape(len(weight), -1).astype("float64") ** 2).sum(axis=1)
    return int(np.argsort(-norms, kind="stable")[rank % len(norms)])


def _alike(weight: Any, turn: int) -> tuple[int, int] | None:
    """The neighbours on axis 0 whose weights differ least, or at a later turn the next ones; None beyond the last.

    Which channels are classes nobody says; of a head with boxes and scores the swap that is hardest to notice is one of
    scores. Those that hardly differ at all (a thousandth of the median) are left out: nothing would change.
    """
    import numpy as np

    rows = weight.reshape(len(weight), -1).astype("float64")
    apart = ((rows[1:] - rows[:-1]) ** 2).sum(axis=1) ** 0.5
    usable = [int(place) for place in np.argsort(apart, kind="stable") if apart[place] > np.median(apart) / 1000]
    return (usable[turn], usable[turn] + 1) if turn < len(usable) else None


def _on_middle(graph: Graph, change: Callable[[Any, int], Any]) -> Mutated:
    middle = graph.middle()
    if middle is None:
        return None
    node, weight = middle
    axis = _output_axis(graph, node)
    return site_of(node), graph.change(weight, lambda values: change(values, axis))


def _output_axis(graph: Graph, node: Any) -> int:
    """Which axis of the weight counts outputs."""
    if node.op_type == "Gemm":
        return 0 if graph.value(node, "transB", 0) else 1
    return 1 if node.op_type in RECURRENT else {"Conv": 0, "ConvTranspose": 1}.get(node.op_type, -1)


def _moved(values: Any, axis: int) -> Any:
    import numpy as np

    return np.moveaxis(values, axis, 0)
