"""What a tool computes of a file's weights before it rounds them: folded factors, summed biases, computed weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench_plugin.adapters.onnx_tools.rounding import onnx_computed
from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_folding",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Folded weights",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_computed", "onnx_names"],
}

FLOAT = 1
# Where the recurrent layers have vectors in tensors of two dimensions, whose first is the direction: bias, peepholes.
VECTORS = {"LSTM": (3, 7), "GRU": (3,), "RNN": (3,)}
BIAS = 3
# Operators that a tool computes beforehand where they lead to the weights of a layer.
CONSTANT = frozenset(
    {"Add", "Cast", "Concat", "Constant", "ConstantOfShape", "Div", "Expand", "Gather", "Identity", "Mul", "Reshape"}
    | {"Slice", "Split", "Squeeze", "Sub", "Tile", "Transpose", "Unsqueeze"}
)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# The axis of the weights that the outputs' channels lie on.
CHANNELS = {"Conv": 0, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Weights(NamedTuple):
    """The stored tensors of a graph as arrays by name.

    ``vectors`` names those that count as vectors whatever their shape, ``made`` biases that a tool makes itself and
    rounds.
    """

    values: dict[str, Any]
    vectors: set[str]
    made: set[str]


def read(onnx: Any, model: Any) -> Weights:
    """The stored tensors of the model's graph."""
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    vectors = {
        node.input[place]
        for node in model.graph.node
        for place in VECTORS.get(node.op_type, ())
        if place < len(node.input) and node.input[place] in values
    }
    return Weights(values, vectors, set())


def parameters(node: Any) -> Sequence[int]:
    """The inputs of a layer that something behind it may be put into: its weights and its bias."""
    return (1, 2) if node.op_type in CHANNELS else ()


def folded(onnx: Any, model: Any) -> Any:
    """The model with BatchNormalization put into the layer in front of it, its weights as they are otherwise."""
    weights = read(onnx, model)
    fold(onnx, model, weights)
    return stored(onnx, model, weights, {})


def stored(onnx: Any, model: Any, weights: Weights, halves: Mapping[str, Any]) -> Any:
    """The model with the weights' values; ``halves`` are those [...] in float16, which get a Cast behind them."""
    used = {name for node in model.graph.node for name in onnx_names.read_by(node)}
    used |= {value.name for value in model.graph.output}
    casts, tensors = [], []
    for name, values in weights.values.items():
        if name not in used:
            continue
        if name in halves:
            tensors.append(onnx.numpy_helper.from_array(halves[name], name + "_float16"))
            casts.append(onnx.helper.make_node("Cast", [name + "_float16"], [name], name + "_cast", to=FLOAT))
        else:
            tensors.append(onnx.numpy_helper.from_array(values, name))
    nodes = [*casts, *model.graph.node]
    for field, filled in ((model.graph.node, nodes), (model.graph.initializer, tensors)):
        del field[:]
        field.extend(filled)
    return model


def compute_weights(onnx: Any, model: Any) -> set[str]:
    """Store the weights of recurrent layers that the graph cuts out of others, as a tool does before it compiles.

    Returns their names.
    """
    made: set[str] = set()
    stored = {tensor.name for tensor in model.graph.initializer}
    constants = None
    for node in model.graph.node:
        for place in range(1, BIAS + 1) if node.op_type in GATES else ():
            name = node.input[place] if place < len(node.input) else ""
            if not name or name in stored:
                continue
            constants = constants or _Constants(onnx, model)
            value = constants.value(name)
            if value is not None:
                node.input[place] = name + "_computed"
                model.graph.initializer.append(onnx.numpy_helper.from_array(value, name + "_computed"))
                made.add(name + "_computed")
    return made


def sum_biases(model: Any, weights: Weights) -> None:
    """B of a recurrent layer as the sum of its halves and zeros; a GRU's last gate only where it is linear before."""
    import numpy as np

    for node in model.graph.node:
        name = node.input[BIAS] if node.op_type in GATES and len(node.input) > BIAS else ""
        if name not in weights.values or name in weights.made:
            continue
        first, second = np.split(weights.values[name].copy(), 2, axis=1)
        options = {attribute.name: attribute.i for attribute in node.attribute}
        apart = node.op_type == "GRU" and bool(options.get("linear_before_reset"))
        count = first.shape[1] * 2 // 3 if apart else first.shape[1]  # that gate's biases lie behind the others
        first[:, :count] += second[:, :count]
        second[:, :count] = 0
        weights.values[name] = np.concatenate([first, second], axis=1)
        weights.made.add(name)


def fold(onnx: Any, model: Any, weights: Weights) -> None:
    """BatchNormalization as a part of the layer in front of it; elsewhere as a factor and a summand."""
    makers = {name: node for node in model.graph.node for name in node.output}
    uses, ranks = _uses(model), _ranks(onnx, model)
    nodes: list[Any] = []
    for node in model.graph.node:
        rank = ranks.get(node.input[0]) if node.input else None
        if node.op_type != "BatchNormalization" or any(name not in weights.values for name in node.input[1:]):
            nodes.append(node)
            continue
        slope, shift = _line(node, weights)
        maker = makers.get(node.input[0])
        # Of a product of matrices of more than two dimensions the channels are not those of BatchNormalization.
        fits = maker is not None and (maker.op_type != "MatMul" or rank == 2)
        if maker is not None and fits and uses[node.input[0]] == 1 and _takes(maker, weights, uses):
            maker.op_type = "Gemm" if maker.op_type == "MatMul" else maker.op_type  # which has a bias
            _into(maker, slope, shift, weights)
            maker.output[0] = node.output[0]
            makers[node.output[0]] = maker
        elif rank is not None:
            nodes.extend(_apart(onnx, node, rank, slope, shift, weights))
        else:
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def scale(model: Any, weights: Weights) -> None:
    """A product with, or a quotient by, one number per channel, or one number, as a part of the layer in front of it.

    So are alpha and beta of a Gemm. Between the two may be the sum with the layer's bias, which is scaled, too.
    """
    makers = {name: node for node in model.graph.node for name in node.output}
    uses = _uses(model)
    for node in model.graph.node:
        _alpha_into(node, weights, uses)
    nodes: list[Any] = []
    for node in model.graph.node:
        factor = _factor(node, makers, weights)
        last = makers[factor[0]] if factor and uses[factor[0]] == 1 else None
        if factor is None or last is None or not _scaled(last, factor[1], makers, weights, uses):
            nodes.append(node)
            continue
        last.output[0] = node.output[0]
        makers[node.output[0]] = last
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _alpha_into(node: Any, weights: Weights, uses: Mapping[str, int]) -> None:
    """Multiply alpha and beta of a Gemm into its weights and its bias, where it alone reads them."""
    said = {one.name: one.f for one in node.attribute if one.name in ("alpha", "beta")}
    if node.op_type != "Gemm" or any(name not in weights.values or uses[name] != 1 for name in node.input[1:] if name):
        return
    for place, key in ((1, "alpha"), (2, "beta")):
        if place < len(node.input) and node.input[place] and key in said:
            weights.values[node.input[place]] = weights.values[node.input[place]] * said[key]
    kept = [one for one in node.attribute if one.name not in said]
    del node.attribute[:]
    node.attribute.extend(kept)


def _factor(node: Any, makers: Mapping[str, Any], weights: Weights) -> tuple[str, Any] | None:
    """What a product or a quotient scales, by its name, and the stored factor; None of other nodes."""
    scaled = [name for name in node.input if name in makers]
    stored = [name for name in node.input if name in weights.values]
    if node.op_type not in ("Mul", "Div") or len(scaled) != 1 or len(stored) != 1:
        return None
    values = weights.values[stored[0]]
    if node.op_type == "Mul":
        return scaled[0], values
    return (scaled[0], (1 / values).astype(values.dtype)) if stored[0] == node.input[1] and values.all() else None


def _scaled(last: Any, factor: Any, makers: Mapping[str, Any], weights: Weights, uses: dict[str, int]) -> bool:
    """Whether a layer, or the sum of a layer and its bias, took in a factor for each of its channels."""
    import numpy as np

    layer, added = last, ""
    if last.op_type == "Add":
        [added, *more] = [name for name in last.input if name in weights.values] or [""]
        products = [name for name in last.input if name in makers]
        if more or len(products) != 1 or uses[products[0]] != 1 or uses.get(added) != 1:
            return False
        layer = makers[products[0]]
    if not _takes(layer, weights, uses):
        return False
    rank = weights.values[layer.input[1]].ndim
    grown = factor.reshape(*[1] * (rank - factor.ndim), *factor.shape)
    if grown.ndim != rank or grown.size != grown.shape[1]:
        return False
    if added:
        both = weights.values[added] * factor
        if both.shape != weights.values[added].shape:
            return False
        weights.values[added] = both
    channels = weights.values[layer.input[1]].shape[_axis(layer)]
    _into(layer, np.broadcast_to(grown.reshape(-1), (channels,)), None, weights)
    return True


def _uses(model: Any) -> dict[str, int]:
    """How often each tensor is read, as an output of the graph too."""
    uses: dict[str, int] = {}
    read = (name for node in model.graph.node for name in [*node.input, *(onnx_names.read_by(node) - set(node.input))])
    for name in (*read, *(value.name for value in model.graph.output)):
        uses[name] = uses.get(name, 0) + 1
    return uses


def _line(node: Any, weights: Weights) -> tuple[Any, Any]:
    """Slope and shift of a BatchNormalization, float32 [C] each, computed in float64."""
    scale, bias, mean, variance = (weights.values[name].astype("float64") for name in node.input[1:5])
    epsilon = next((attribute.f for attribute in node.attribute if attribute.name == "epsilon"), 1e-5)
    slope = scale / (variance + epsilon) ** 0.5
    return slope.astype("float32"), (bias - mean * slope).astype("float32")


def _takes(maker: Any, weights: Weights, uses: dict[str, int]) -> bool:
    """Whether a node is a layer with weights and a bias of its own; a grouped transposed convolution is left alone."""
    grouped = any(attribute.name == "group" and attribute.i != 1 for attribute in maker.attribute)
    scaled = any(attribute.name in ("alpha", "beta") and attribute.f != 1 for attribute in maker.attribute)
    own = all(name in weights.values and uses[name] == 1 for name in maker.input[1:] if name)
    if maker.op_type not in CHANNELS or not own or scaled:
        return False
    if maker.op_type == "MatMul":
        return maker.input[1] in weights.values and weights.values[maker.input[1]].ndim == 2
    return not (grouped and maker.op_type == "ConvTranspose")


def _axis(maker: Any) -> int:
    """The axis of a layer's weights that the channels of its outputs lie on."""
    transposed = any(attribute.name == "transB" and attribute.i for attribute in maker.attribute)
    return 0 if transposed else CHANNELS[maker.op_type]


def _into(maker: Any, slope: Any, shift: Any, weights: Weights) -> None:
    kernel = weights.values[maker.input[1]]
    axis = _axis(maker)
    along = [-1 if place == axis else 1 for place in range(kernel.ndim)]
    weights.values[maker.input[1]] = kernel * slope.reshape(along)
    if len(maker.input) > 2 and maker.input[2]:
        weights.values[maker.input[2]] = weights.values[maker.input[2]] * slope + (0 if shift is None else shift)
        return
    if shift is None:
        return
    name = maker.input[1] + "_folded_bias"
    weights.values[name] = shift
    del maker.input[2:]
    maker.input.append(name)


def _ranks(onnx: Any, model: Any) -> dict[str, int]:
    """The number of dimensions of each tensor of which it is known, inputs of the graph among them."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    values = [*graph.input, *graph.value_info, *graph.output]
    types = {value.name: value.type.tensor_type for value in values}
    return {name: len(one.shape.dim) for name, one in types.items() if one.HasField("shape")}


def _apart(onnx: Any, node: Any, rank: int, slope: Any, shift: Any, weights: Weights) -> list[Any]:
    """A product and a sum in the place of the node, with vectors that are broadcast along the channels."""
    first, between = node.output[0], node.output[0] + "_scaled"
    names = [first + "_slope", first + "_shift"]
    for name, values in zip(names, (slope, shift)):
        weights.values[name] = values.reshape(-1, *[1] * (rank - 2))
        weights.vectors.add(name)
    return [
        onnx.helper.make_node("Mul", [node.input[0], names[0]], [between]),
        onnx.helper.make_node("Add", [between, names[1]], [first]),
    ]


class _Constants:
    """Values that a graph computes from stored tensors and from shapes, whatever the sizes of symbolic dimensions."""

    def __init__(self, onnx: Any, model: Any) -> None:
        bound = onnx.ModelProto()
        bound.CopyFrom(model)
        for value in (*bound.graph.input, *bound.graph.output):
            for dim in value.type.tensor_type.shape.dim:
                dim.dim_value = dim.dim_value or 1
        del bound.graph.value_info[:]
        inferred = onnx.shape_inference.infer_shapes(bound, data_prop=True).graph
        self._shapes = {
            value.name: [
                dim.dim_value if dim.HasField("dim_value") else None for dim in value.type.tensor_type.shape.dim
            ]
            for value in (*inferred.value_info, *inferred.input)
        }
        self._onnx, self._model = onnx, bound
        self._makers = {name: node for node in bound.graph.node for name in node.output if name}
        self._known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in bound.graph.initializer}

    def value(self, name: str) -> Any:
        """The array of that name, None where it depends on more."""
        if name not in self._known:
            node = self._makers.get(name)
            self._known.update(self._results(node) if node is not None else {})
        return self._known.get(name)

    def _results(self, node: Any) -> dict[str, Any]:
        import numpy as np

        shape = self._shapes.get(node.input[0]) if node.op_type == "Shape" else None
        if shape is not None and None not in shape and not node.attribute:
            return {node.output[0]: np.array(shape, dtype=np.int64)}
        given = {name: self.value(name) for name in node.input if name}
        if node.op_type not in CONSTANT or any(value is None for value in given.values()):
            return {}
        return onnx_computed.evaluated(self._onnx, self._model, node, given)
