"""OpenVINO's operators in ONNX's, on real values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Unread

ADAPTER = {
    "name": "openvino_operators",
    "kind": "tool",
    "toolchain": "openvino",
    "title": "OpenVINO's operators in ONNX's",
    "distribution": "openvino",
    "operations": [],
}

# Of Interpolate and ONNX's Resize: modes by their names, what has one name in both, and the words of these.
MODES = {"nearest": "nearest", "linear_onnx": "linear", "cubic": "cubic"}
RESIZED = ("coordinate_transformation_mode", "nearest_mode")
NAMES = frozenset({
    "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
})  # fmt: skip


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("openvino", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def _shape(port: Any) -> list[int]:
    if port.get_partial_shape().is_dynamic:
        raise Unread("a shape that is not fixed")
    return [int(size) for size in port.shape]


def _pads(said: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(said.get("auto_pad", "explicit"))
    if kind in ("same_upper", "same_lower"):
        return {"auto_pad": kind.upper()}
    if kind == "valid":
        return {"auto_pad": "VALID"}
    return {"pads": [*(int(one) for one in said["pads_begin"]), *(int(one) for one in said["pads_end"])]}


def _weights(reader: Any, node: Any) -> tuple[str, int]:
    """The weights of a convolution as ONNX wants them, and their groups, which have a dimension of their own here."""
    w = node.input_value(1)
    if reader.varies(w):
        raise Unread("weights that are computed")
    weights = reader.weight(w, node)
    if not node.get_type_name().startswith("Group"):
        return weights, 1
    sizes = _shape(w)
    shape = reader.layers.constant([sizes[0] * sizes[1], *sizes[2:]], "int64")
    return reader.layers.node("Reshape", [weights, shape]), sizes[0]


def _convolution(reader: Any, node: Any) -> list[str]:
    said = node.get_attributes()
    weights, group = _weights(reader, node)
    strides, dilations = ([int(one) for one in said[key]] for key in ("strides", "dilations"))
    options = {"group": group, "strides": strides, "dilations": dilations, **_pads(said)}
    return [reader.layers.node("Conv", [reader.real(node.input_value(0)), weights], **options)]


def _transposed(reader: Any, node: Any) -> list[str]:
    said = node.get_attributes()
    if len(node.input_values()) > 2 or str(said.get("auto_pad", "explicit")) not in ("explicit", "notset"):
        raise Unread("a size that is asked for")
    weights, group = _weights(reader, node)
    lists = {key: [int(one) for one in said[key]] for key in ("strides", "dilations", "output_padding")}
    options = {"group": group, **{key: value for key, value in lists.items() if value}, **_pads(said)}
    return [reader.layers.node("ConvTranspose", [reader.real(node.input_value(0)), weights], **options)]


def _space_to_depth(reader: Any, node: Any) -> list[str]:
    said = node.get_attributes()
    if str(said["mode"]).lower() != "blocks_first":
        raise Unread("another order than ONNX's")
    return [reader.layers.node("SpaceToDepth", [reader.real(node.input_value(0))], blocksize=int(said["block_size"]))]


def _depth_to_space(reader: Any, node: Any) -> list[str]:
    said = node.get_attributes()
    mode = {"blocks_first": "DCR", "depth_first": "CRD"}[str(said["mode"]).lower()]
    value = reader.real(node.input_value(0))
    return [reader.layers.node("DepthToSpace", [value], blocksize=int(said["block_size"]), mode=mode)]


def _matmul(reader: Any, node: Any) -> list[str]:
    said = node.get_attributes()
    sides = []
    for value, flipped in zip(node.input_values(), (said["transpose_a"], said["transpose_b"])):
        side = reader.real(value) if reader.varies(value) else reader.weight(value, node)
        rank = value.get_partial_shape().rank.get_length()
        if flipped and rank > 1:
            side = reader.layers.node("Transpose", [side], perm=[*range(rank - 2), rank - 1, rank - 2])
        sides.append(side)
    return [reader.layers.node("MatMul", sides)]


def _elementwise(operator: str) -> Callable[[Any, Any], list[str]]:
    return lambda reader, node: [reader.layers.node(operator, [reader.real(one) for one in node.input_values()])]


def _sum(reader: Any, node: Any) -> list[str]:
    first, second = node.input_values()
    return [reader.layers.node("Add", [reader.summand(first, second), reader.summand(second, first)])]


def _pool(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        said = node.get_attributes()
        options = {
            "kernel_shape": [int(one) for one in said["kernel"]], "strides": [int(one) for one in said["strides"]],
            "ceil_mode": int(str(said.get("rounding_type", "floor")) != "floor"), **_pads(said),
        }  # fmt: skip
        if operator == "AveragePool":
            options["count_include_pad"] = int(not said.get("exclude-pad", said.get("exclude_pad", True)))
        elif "dilations" in said:
            options["dilations"] = [int(one) for one in said["dilations"]]
        return [reader.layers.node(operator, [reader.real(node.input_value(0))], **options)]

    return translate


def _reshape(reader: Any, node: Any) -> list[str]:
    if node.get_type_name() == "Reshape" and not reader.varies(node.input_value(1)):
        pattern = reader.layers.constant(_constant(reader, node.input_value(1)), "int64")
        literal = int(not node.get_attributes()["special_zero"])
        return [reader.layers.node("Reshape", [reader.real(node.input_value(0)), pattern], allowzero=literal)]
    shape = reader.layers.constant(_shape(node.output(0)), "int64")
    return [reader.layers.node("Reshape", [reader.real(node.input_value(0)), shape])]


def _constant(reader: Any, value: Any) -> Any:
    if reader.varies(value):
        raise Unread("a parameter that is computed")
    return reader.fixed(value)


def _transpose(reader: Any, node: Any) -> list[str]:
    order = [int(one) for one in _constant(reader, node.input_value(1))]
    return [reader.layers.node("Transpose", [reader.real(node.input_value(0))], perm=order)]


def _reduced(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        axes = sorted(int(one) for one in _constant(reader, node.input_value(1)).reshape(-1))
        keep, value = int(bool(node.get_attributes()["keep_dims"])), reader.real(node.input_value(0))
        if operator == "ReduceSum":
            return [reader.layers.node(operator, [value, reader.layers.constant(axes, "int64")], keepdims=keep)]
        return [reader.layers.node(operator, [value], axes=axes, keepdims=keep)]

    return translate


def _concat(reader: Any, node: Any) -> list[str]:
    axis = int(node.get_attributes()["axis"])
    return [reader.layers.node("Concat", [reader.real(one) for one in node.input_values()], axis=axis)]


def _along_axis(operator: str) -> Callable[[Any, Any], list[str]]:
    def translate(reader: Any, node: Any) -> list[str]:
        axis = int(node.get_attributes()["axis"])
        return [reader.layers.node(operator, [reader.real(node.input_value(0))], axis=axis)]

    return translate


def _elu(reader: Any, node: Any) -> list[str]:
    alpha = float(node.get_attributes()["alpha"])
    return [reader.layers.node("Elu", [reader.real(node.input_value(0))], alpha=alpha)]


def _curve(operator: str, *names: str) -> Callable[[Any, Any], list[str]]:
    """A function whose parameters of these names are inputs here, and attributes in ONNX."""

    def translate(reader: Any, node: Any) -> list[str]:
        given = [float(_constant(reader, value).reshape(())) for value in node.input_values()[1:]]
        options = dict(zip(names, given))
        return [reader.layers.node(operator, [reader.real(node.input_value(0))], **options)]

    return translate


def _mish(reader: Any, node: Any) -> list[str]:
    value = reader.real(node.input_value(0))
    return [reader.layers.node("Mul", [value, reader.layers.node("Tanh", [reader.layers.node("Softplus", [value])])])]


def _same(reader: Any, node: Any) -> list[str]:
    return [reader.real(node.input_value(0))]


def _round(reader: Any, node: Any) -> list[str]:
    if str(node.get_attributes()["mode"]).lower() != "half_to_even":
        raise Unread("a tie that does not go to the even number")
    return [reader.layers.node("Round", [reader.real(node.input_value(0))])]


def _cumsum(reader: Any, node: Any) -> list[str]:
    said = {name: int(bool(node.get_attributes()[name])) for name in ("exclusive", "reverse")}
    axis = reader.layers.constant(_constant(reader, node.input_value(1)).reshape(-1)[0], "int64")
    return [reader.layers.node("CumSum", [reader.real(node.input_value(0)), axis], **said)]


def _local_response(reader: Any, node: Any) -> list[str]:
    """LRN over channels; of an even size the window is another one than ONNX's."""
    said, axes = node.get_attributes(), _constant(reader, node.input_value(1)).reshape(-1)
    if [int(axis) for axis in axes] != [1] or int(said["size"]) % 2 == 0:
        raise Unread("a window that ONNX does not have")
    options = {name: float(said[name]) for name in ("alpha", "beta", "bias")}
    return [reader.layers.node("LRN", [reader.real(node.input_value(0))], size=int(said["size"]), **options)]


def _pad(reader: Any, node: Any) -> list[str]:
    mode = str(node.get_attributes()["pad_mode"]).lower()
    if mode not in ("constant", "edge", "reflect"):
        raise Unread("a way of padding that ONNX does not have")
    ends = [int(one) for value in node.input_values()[1:3] for one in _constant(reader, value).reshape(-1)]
    parts = [reader.real(node.input_value(0)), reader.layers.constant(ends, "int64")]
    if mode == "constant" and len(node.input_values()) > 3:
        parts.append(reader.layers.constant(_constant(reader, node.input_value(3)).reshape(())))
    return [reader.layers.node("Pad", parts, mode=mode)]


def _tile(reader: Any, node: Any) -> list[str]:
    times, rank = _constant(reader, node.input_value(1)).reshape(-1), len(_shape(node.input_value(0)))
    if len(times) != rank:
        raise Unread("another number of dimensions")
    return [reader.layers.node("Tile", [reader.real(node.input_value(0)), reader.layers.constant(times, "int64")])]


def _clamp(reader: Any, node: Any) -> list[str]:
    said = node.get_attributes()
    limits = [reader.layers.constant(float(said[key])) for key in ("min", "max")]
    return [reader.layers.node("Clip", [reader.real(node.input_value(0)), *limits])]


def _swish(reader: Any, node: Any) -> list[str]:
    value = reader.real(node.input_value(0))
    inner = value
    if len(node.input_values()) > 1:
        inner = reader.layers.node("Mul", [value, reader.real(node.input_value(1))])
    return [reader.layers.node("Mul", [value, reader.layers.node("Sigmoid", [inner])])]


def _hard_swish(reader: Any, node: Any) -> list[str]:
    return [reader.layers.node("HardSwish", [reader.real(node.input_value(0))])]


def _gelu(reader: Any, node: Any) -> list[str]:
    kind = str(node.get_attributes().get("approximation_mode", "ERF")).upper()
    if kind not in ("ERF", "TANH"):
        raise Unread("an approximation of Gelu that ONNX does not have")
    value = reader.real(node.input_value(0))
    return [reader.layers.gelu(value) if kind == "ERF" else reader.layers.gelu_by_tanh(value)]


def _topk(reader: Any, node: Any) -> list[str]:
    """The largest or smallest elements of an axis, sorted by their values, and their numbers."""
    said, value = node.get_attributes(), node.input_value(0)
    largest, count = str(said["mode"]).lower() == "max", _constant(reader, node.input_value(1)).reshape(-1)
    if str(said["sort"]).lower() != "value" and int(count[0]) > 1:
        raise Unread("an order that is not that of the values")
    axis = int(said["axis"]) % len(_shape(value)) - len(_shape(value))
    wanted = reader.layers.constant(count, "int64")
    return list(reader.layers.choose("TopK", reader.real(value), wanted, axis=axis, largest=int(largest)))


def _identity(reader: Any, node: Any) -> list[str]:
    kinds = [port.get_element_type().get_type_name() for port in (node.input_value(0), node.output(0))]
    if kinds[1] != "f32" and not {*kinds} <= {"i32", "i64"}:
        raise Unread("a conversion of types")
    return [reader.real(node.input_value(0))]


def _squared_difference(reader: Any, node: Any) -> list[str]:
    off = reader.layers.node("Sub", [reader.real(one) for one in node.input_values()])
    return [reader.layers.node("Mul", [off, off])]


def _normalised(reader: Any, node: Any) -> list[str]:
    values = [reader.real(one) for one in node.input_values()]
    return [reader.layers.node("BatchNormalization", values, epsilon=float(node.get_attributes()["epsilon"]))]


def _mean_and_variance(reader: Any, node: Any) -> list[str]:
    """MVN: values less their mean, over their standard deviation where that is asked for."""
    layers, said, value = reader.layers, node.get_attributes(), reader.real(node.input_value(0))
    rank = node.output(0).get_partial_shape().rank.get_length()
    axes = sorted(int(axis) % rank for axis in _constant(reader, node.input_value(1)).reshape(-1))
    centred = layers.node("Sub", [value, layers.node("ReduceMean", [value], axes=axes, keepdims=1)])
    if not said["normalize_variance"]:
        return [centred]
    variance = layers.node("ReduceMean", [layers.node("Mul", [centred, centred])], axes=axes, keepdims=1)
    epsilon = layers.constant(float(said["eps"]))
    if str(said["eps_mode"]).lower() == "inside_sqrt":
        deviation = layers.node("Sqrt", [layers.node("Add", [variance, epsilon])])
    else:
        deviation = layers.node("Add", [layers.node("Sqrt", [variance]), epsilon])
    return [layers.node("Div", [centred, deviation])]


def _split(reader: Any, node: Any) -> list[str]:
    axis = int(_constant(reader, node.input_value(1)).reshape(-1)[0])
    sizes = [_shape(port)[axis] for port in node.outputs()]
    parts = [reader.real(node.input_value(0)), reader.layers.constant(sizes, "int64")]
    return list(reader.layers.split("Split", parts, len(sizes), axis=axis))


def _gather(reader: Any, node: Any) -> list[str]:
    if int(node.get_attributes().get("batch_dims", 0)):
        raise Unread("batch dimensions")
    axis = int(_constant(reader, node.input_value(2)).reshape(-1)[0])
    numbers = reader.layers.node("Cast", [reader.real(node.input_value(1))], to=7)
    taken = node.input_value(0)
    table = None if reader.varies(taken) else reader.table(taken, node)
    return [reader.layers.node("Gather", [table or reader.real(taken), numbers], axis=axis)]


def _slice(reader: Any, node: Any) -> list[str]:
    parts = [_constant(reader, value).reshape(-1) for value in node.input_values()[1:]]
    bounds = [reader.layers.constant(part, "int64") for part in parts]
    if len(bounds) == 3:  # start, stop, step; ONNX has the axes before the steps
        bounds.append(reader.layers.constant(list(range(len(parts[0]))), "int64"))
    start, stop, step, axes = bounds
    return [reader.layers.node("Slice", [reader.real(node.input_value(0)), start, stop, axes, step])]


def _broadcast(reader: Any, node: Any) -> list[str]:
    if str(node.get_attributes()["mode"]).lower() not in ("numpy", "bidirectional"):
        raise Unread("axes that are said")
    shape = reader.layers.constant(_shape(node.output(0)), "int64")
    return [reader.layers.node("Expand", [reader.real(node.input_value(0)), shape])]


def _prelu(reader: Any, node: Any) -> list[str]:
    """PRelu, whose slope is one number, or one for each channel, which is the second axis."""
    value, given = reader.real(node.input_value(0)), node.input_value(1)
    if reader.varies(given):
        raise Unread("a slope that is computed")
    values = reader.layers.values[reader.real(given)]
    if values.ndim == 1 and values.size > 1:
        rank = node.input_value(0).get_partial_shape().rank.get_length()
        values = values.reshape(-1, *[1] * (rank - 2))
    return [reader.layers.node("PRelu", [value, reader.layers.floating("slope", "PRelu", values)])]


def _interpolate(reader: Any, node: Any) -> list[str]:
    """Interpolate 4 and 11, whose words are those of ONNX's Resize."""
    said, value = node.get_attributes(), node.input_value(0)
    mode, words = MODES.get(str(said["mode"])), [str(said[key]) for key in RESIZED]
    if mode is None or said.get("antialias") or not set(words) <= NAMES:
        raise Unread("a way of resizing that ONNX does not have")
    if any(said.get(key) and any(said[key]) for key in ("pads_begin", "pads_end")):
        raise Unread("padding")
    taken, made = _shape(value), _shape(node.output(0))
    scales = [size / before for before, size in zip(taken, made)]
    if str(said["shape_calculation_mode"]) == "scales":
        inputs = [_constant(reader, one).reshape(-1) for one in node.input_values()[1:]]
        given = inputs[0 if node.get_type_info().version_id == "opset11" else 1]
        axes = inputs[-1] if len(inputs[-1]) == len(given) < len(taken) else range(len(taken))
        for axis, scale in zip(axes, given):
            scales[int(axis)] = float(scale)
    options = dict(zip(RESIZED, words)) | {"mode": mode, "cubic_coeff_a": float(said.get("cube_coeff", -0.75))}
    return [
        reader.layers.node("Resize", [reader.real(value), "", reader.layers.constant(scales, "float32")], **options)
    ]


TRANSLATIONS: Mapping[str, Callable[[Any, Any], list[str]]] = {
    "Convolution": _convolution, "GroupConvolution": _convolution, "MatMul": _matmul,
    "ConvolutionBackpropData": _transposed, "GroupConvolutionBackpropData": _transposed,
    "Add": _sum, "Subtract": _elementwise("Sub"), "Multiply": _elementwise("Mul"),
    "Divide": _elementwise("Div"), "Power": _elementwise("Pow"), "Maximum": _elementwise("Max"),
    "Minimum": _elementwise("Min"), "Relu": _elementwise("Relu"), "PRelu": _prelu,
    "Sigmoid": _elementwise("Sigmoid"), "Tanh": _elementwise("Tanh"), "Sqrt": _elementwise("Sqrt"),
    "Exp": _elementwise("Exp"), "Erf": _elementwise("Erf"), "Abs": _elementwise("Abs"), "Log": _elementwise("Log"),
    "Sin": _elementwise("Sin"), "Cos": _elementwise("Cos"), "Sign": _elementwise("Sign"),
    "Floor": _elementwise("Floor"), "Ceiling": _elementwise("Ceil"), "Negative": _elementwise("Neg"),
    "MaxPool": _pool("MaxPool"), "AvgPool": _pool("AveragePool"), "ReduceMean": _reduced("ReduceMean"),
    "ReduceSum": _reduced("ReduceSum"), "ReduceMax": _reduced("ReduceMax"), "Reshape": _reshape,
    "Squeeze": _reshape, "Unsqueeze": _reshape, "Transpose": _transpose, "Concat": _concat,
    "Softmax": _along_axis("Softmax"),
    "BatchNormInference": _normalised, "Clamp": _clamp, "Swish": _swish, "HSwish": _hard_swish, "Gelu": _gelu,
    "Convert": _identity, "MVN": _mean_and_variance,
    "SquaredDifference": _squared_difference, "Split": _split, "VariadicSplit": _split,
    "Interpolate": _interpolate, "Slice": _slice, "Gather": _gather, "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth, "Broadcast": _broadcast,
    "TopK": _topk, "LogSoftmax": _along_axis("LogSoftmax"), "Elu": _elu, "Mish": _mish,
    "Selu": _curve("Selu", "alpha", "gamma"), "HardSigmoid": _curve("HardSigmoid", "alpha", "beta"),
    "SoftPlus": _elementwise("Softplus"), "ReduceMin": _reduced("ReduceMin"), "ReduceProd": _reduced("ReduceProd"),
    "ReduceL1": _reduced("ReduceL1"), "ReduceL2": _reduced("ReduceL2"), "Pad": _pad, "Tile": _tile,
    "Identity": _same, "Round": _round, "CumSum": _cumsum, "LRN": _local_response,
    "SoftSign": _elementwise("Softsign"),
}  # fmt: skip
