"""What the simulated accelerator computes: products of int8 summed up in int32, rescaled and rounded half to even.

Sums are computed by matrix products in float64, which are exact for integers below 2^53.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bench_plugin.adapters.simulator.npu_partition import Graph, Step, attributes
from bench_plugin.agent.toolkit import versions

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ADAPTER = {
    "name": "npu_integers",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Arithmetic of the simulated accelerator",
    "distribution": "numpy",
    "operations": [],
    "uses": ["npu_partition"],
}

SUMS = 2**31  # sums are kept in int32
INT32 = "%s: a sum of %d does not fit into int32"


class Adapter:
    """Remembers nothing; the adapter that uses this file takes its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy", "onnx")

    def reset(self) -> None:
        """Nothing to forget."""


class Scale(NamedTuple):
    """A quantisation: scale (float64, one or one per channel), zero point, and the type of its integers."""

    scale: Any
    zero: Any
    dtype: Any


Values = dict[str, Any]
Compute = Callable[[Values], None]


class Runtime:
    """The steps of a plan, ready to run: each takes its inputs from the values by name, and adds its outputs.

    Raises OverflowError, while it runs, for a sum that an accumulator of int32 cannot hold.
    """

    def __init__(self, onnx: Any, model: Any, graph: Graph, steps: Sequence[Step]) -> None:
        self._graph = graph
        self._outputs = list(graph.outputs)
        self._steps: list[Compute] = [
            self._layer(onnx, step) if step.kind else _on_host(onnx, model, graph, graph.nodes[step.nodes[0]])
            for step in steps
        ]

    def run(self, given: Mapping[str, Any]) -> list[Any]:
        """The outputs of the graph for inputs by name."""
        values: Values = {**self._graph.constants, **given}
        for step in self._steps:
            step(values)
        return [values[name] for name in self._outputs]

    def _layer(self, onnx: Any, step: Step) -> Compute:
        """The computation of a layer, whose result in real numbers is rounded to the integers of its quantisation."""
        import numpy as np

        graph, node, end = self._graph, self._graph.nodes[step.nodes[0]], self._graph.nodes[step.nodes[-1]]
        said = attributes(onnx, node)
        makers = [graph.maker(name) for name in node.input if name in graph.makers]
        scales = [_scale(graph, maker) for maker in makers if maker.input[0] in step.inputs]
        real = _REAL[step.kind](_Layer(graph, step, node, said, scales))
        clips = [_clip(onnx, graph, graph.nodes[place]) for place in step.nodes[1:-1]]
        out, made = _scale(graph, end), step.outputs[0]
        limits = np.iinfo(out.dtype)

        def compute(values: Values) -> None:
            result = real([values[name] for name in step.inputs])
            for low, high in clips:
                result = np.clip(result, low, high)
            steps = np.rint(result / out.scale) + float(out.zero)
            values[made] = np.clip(steps, limits.min, limits.max).astype(out.dtype)

        return compute


class _Layer(NamedTuple):
    """What an instruction is made of: ``scales`` are those of its inputs."""

    graph: Graph
    step: Step
    node: Any
    said: Mapping[str, Any]
    scales: Sequence[Scale]


Real = Callable[[Sequence[Any]], Any]  # the integers of the inputs to the result in real numbers, float64


def _scale(graph: Graph, node: Any) -> Scale:
    """The quantisation of a QuantizeLinear or DequantizeLinear node."""
    import numpy as np

    zero = graph.constants.get(node.input[2]) if len(node.input) > 2 else None
    zero = np.zeros((), np.int32) if zero is None else zero
    scale = np.asarray(graph.constants[node.input[1]], dtype=np.float64)
    plain = scale.size == 1
    return Scale(scale.reshape(()) if plain else scale, zero.reshape(()) if zero.size == 1 else zero, zero.dtype)


class _Filters(NamedTuple):
    """Weights without zero points (float64), the scale of each filter, and its bias, in integers and as a number.

    The scale of a bias is stored in float32, so it is not quite the product of the other two. The bias is added as the
    graph says it; the difference decides about a rounding in one of a million elements.
    """

    weights: Array
    scales: Array
    bias: Array
    offset: Array


def _filters(layer: _Layer, rows: bool) -> _Filters:
    """What a layer with weights has; ``rows``: the filters lie on the first axis of the weights, else on the last."""
    import numpy as np

    graph, node = layer.graph, layer.node
    maker = graph.maker(node.input[1])
    weights, scale = graph.constants[maker.input[0]].astype(np.float64), _scale(graph, maker)
    axis = 0 if rows else weights.ndim - 1
    along = [-1 if place == axis else 1 for place in range(weights.ndim)]
    weights = weights - np.asarray(scale.zero, np.float64).reshape(along if np.size(scale.zero) > 1 else ())
    filters = (weights.shape[axis],)
    bias = offset = np.zeros(filters)
    if len(node.input) > 2 and node.input[2]:
        stored = graph.maker(node.input[2])
        bias = np.broadcast_to(graph.constants[stored.input[0]].astype(np.float64).reshape(-1), filters)
        offset = bias * _scale(graph, stored).scale
    return _Filters(weights, np.broadcast_to(scale.scale, filters), bias, offset)


def _check(layer: _Layer, sums: Array) -> None:
    """Raises OverflowError for sums that an accumulator of 32 bits cannot hold."""
    largest = abs(sums).max(initial=0.0)
    if largest >= SUMS:
        raise OverflowError(INT32 % (layer.node.name or layer.node.output[0], int(largest)))


def _convolution(layer: _Layer) -> Real:
    """A convolution of [N, C, H, W] in two dimensions."""
    import numpy as np

    weights, scales, bias, offset = _filters(layer, rows=True)
    groups, (given,) = int(layer.said.get("group", 1)), layer.scales
    factors, offset = (given.scale * scales).reshape(1, -1, 1, 1), offset.reshape(1, -1, 1, 1)
    kernel = weights.shape[2:]
    spread = list(layer.said.get("dilations", (1, 1)))

    def real(xs: Sequence[Any]) -> Any:
        x = xs[0].astype(np.float64) - float(given.zero)
        windows = _windows(x, kernel, layer.said, spread, 0.0)  # [N, C, H', W', Kh, Kw]
        parts = []
        for group in range(groups):
            of = slice(group * weights.shape[1], (group + 1) * weights.shape[1])
            mine = weights[group * len(weights) // groups : (group + 1) * len(weights) // groups]
            parts.append(np.tensordot(windows[:, of], mine, axes=([1, 4, 5], [1, 2, 3])))
        sums = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
        _check(layer, sums + bias.reshape(1, -1, 1, 1))
        return sums * factors + offset

    return real


def _product(layer: _Layer) -> Real:
    """A product of [..., K] with weights of two dimensions."""
    import numpy as np

    transposed = bool(layer.said.get("transB", 0))
    weights, scales, bias, offset = _filters(layer, rows=transposed)
    weights, (given,) = (weights.T if transposed else weights), layer.scales
    factors = given.scale * scales

    def real(xs: Sequence[Any]) -> Any:
        sums = (xs[0].astype(np.float64) - float(given.zero)) @ weights
        _check(layer, sums + bias)
        return sums * factors + offset

    return real


def _windows(x: Any, kernel: Sequence[int], said: Mapping[str, Any], spread: Sequence[int], filled: float) -> Any:
    """The windows [N, C, H', W', Kh, Kw] of x [N, C, H, W], padded with ``filled``."""
    import numpy as np

    strides = list(said.get("strides", (1, 1)))
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, spread)]
    pads = _pads(x.shape[2:], reach, strides, said)
    padded = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=filled)
    whole = np.lib.stride_tricks.sliding_window_view(padded, tuple(reach), axis=(2, 3))
    return whole[:, :, :: strides[0], :: strides[1], :: spread[0], :: spread[1]]


def _pads(
    shape: Sequence[int], reach: Sequence[int], strides: Sequence[int], said: Mapping[str, Any]
) -> list[tuple[int, int]]:
    """How much is padded before and after each of two axes."""
    auto = said.get("auto_pad", b"NOTSET").decode()
    if not auto.startswith("SAME"):
        pads = list(said.get("pads", (0, 0, 0, 0))) if auto == "NOTSET" else [0, 0, 0, 0]
        return [(pads[0], pads[2]), (pads[1], pads[3])]
    found = []
    for size, length, step in zip(shape, reach, strides):
        total = max((-(-size // step) - 1) * step + length - size, 0)
        less = total // 2
        found.append((less, total - less) if auto == "SAME_UPPER" else (total - less, less))
    return found


def _maximum(layer: _Layer) -> Real:
    """The largest integer of each window: what is padded is smaller than all."""
    import numpy as np

    (given,) = layer.scales

    def real(xs: Sequence[Any]) -> Any:
        x = xs[0].astype(np.float64)
        windows = _windows(x, list(layer.said["kernel_shape"]), layer.said, (1, 1), -np.inf)
        return (windows.max(axis=(4, 5)) - float(given.zero)) * given.scale

    return real


def _average(layer: _Layer) -> Real:
    """The mean of each window, or of each channel: a sum of integers over a count."""
    import numpy as np

    (given,) = layer.scales
    everything = bool(layer.said.get("count_include_pad", 0))

    def real(xs: Sequence[Any]) -> Any:
        x = xs[0].astype(np.float64) - float(given.zero)
        kernel = list(layer.said.get("kernel_shape", x.shape[2:]))
        sums = _windows(x, kernel, layer.said, (1, 1), 0.0).sum(axis=(4, 5))
        counts = _windows(np.ones_like(x), kernel, layer.said, (1, 1), float(everything)).sum(axis=(4, 5))
        _check(layer, sums)
        return sums * given.scale / counts

    return real


def _add(layer: _Layer) -> Real:
    """The sum of two tensors in real numbers, as their scales may be different."""
    first, second = layer.scales if len(layer.scales) == 2 else (layer.scales[0],) * 2
    return lambda xs: _real(xs[0], first) + _real(xs[1], second)


def _multiply(layer: _Layer) -> Real:
    first, second = layer.scales if len(layer.scales) == 2 else (layer.scales[0],) * 2
    return lambda xs: _real(xs[0], first) * _real(xs[1], second)


def _activation(layer: _Layer) -> Real:
    onnx = importlib.import_module("onnx")
    low, high = _clip(onnx, layer.graph, layer.node)
    return lambda xs: _real(xs[0], layer.scales[0]).clip(low, high)


def _join(layer: _Layer) -> Real:
    import numpy as np

    axis = int(layer.said.get("axis", 0))
    return lambda xs: np.concatenate([_real(x, scale) for x, scale in zip(xs, layer.scales)], axis=axis)


def _move(layer: _Layer) -> Real:
    """Other places for the same elements."""
    import numpy as np

    (given,), node, said = layer.scales, layer.node, layer.said

    def moved(x: Any) -> Any:
        if node.op_type == "Transpose":
            return np.transpose(x, said.get("perm"))
        if node.op_type == "Flatten":
            axis = int(said.get("axis", 1)) % (x.ndim + 1)
            return x.reshape(int(np.prod(x.shape[:axis], dtype=np.int64)), -1)
        wanted = [int(size) for size in layer.graph.constants[node.input[1]]]
        kept = not said.get("allowzero", 0)
        return x.reshape([x.shape[place] if size == 0 and kept else size for place, size in enumerate(wanted)])

    return lambda xs: _real(moved(xs[0]), given)


_REAL: Mapping[str, Callable[[_Layer], Real]] = {
    "convolution": _convolution, "product": _product, "maximum": _maximum, "average": _average, "add": _add,
    "multiply": _multiply, "activation": _activation, "join": _join, "move": _move,
}  # fmt: skip


def _real(x: Any, scale: Scale) -> Any:
    return (x.astype("float64") - float(scale.zero)) * scale.scale


def _clip(onnx: Any, graph: Graph, node: Any) -> tuple[float, float]:
    """The bounds of an activation function."""
    if node.op_type == "Relu":
        return 0.0, float("inf")
    said = attributes(onnx, node)  # before opset 11 they were attributes
    bounds = [float(said.get("min", "-inf")), float(said.get("max", "inf"))]
    for place, name in enumerate(node.input[1:3]):
        if name:
            bounds[place] = float(graph.constants[name])
    return bounds[0], bounds[1]


def _on_host(onnx: Any, model: Any, graph: Graph, node: Any) -> Compute:
    """A node of the CPU: quantisation by the same rule as the accelerator's, all else by onnx's reference evaluator."""
    import numpy as np

    if node.op_type in ("QuantizeLinear", "DequantizeLinear") and node.input[1] in graph.constants:
        scale = _scale(graph, node)
        limits = np.iinfo(scale.dtype) if scale.dtype.kind in "iu" else None
        axis = int(attributes(onnx, node).get("axis", 1))

        def convert(values: Values) -> None:
            x = np.asarray(values[node.input[0]])
            along = [-1 if place == axis % max(x.ndim, 1) else 1 for place in range(x.ndim)]
            factor = scale.scale.reshape(along if scale.scale.ndim else ())
            zero = np.asarray(scale.zero, np.float64).reshape(along if np.ndim(scale.zero) else ())
            if node.op_type == "DequantizeLinear":
                values[node.output[0]] = ((x.astype(np.float64) - zero) * factor).astype(np.float32)
            elif limits is not None:
                steps = np.rint(x.astype(np.float64) / factor) + zero
                values[node.output[0]] = np.clip(steps, limits.min, limits.max).astype(scale.dtype)

        return convert
    return _evaluated(onnx, model, node)


def _evaluated(onnx: Any, model: Any, node: Any) -> Compute:
    """A node by onnx's reference evaluator."""
    helper, reference = onnx.helper, importlib.import_module("onnx.reference")
    names, made = [name for name in dict.fromkeys(node.input) if name], [name for name in node.output if name]
    graph = helper.make_graph(
        [node], "one", [helper.make_empty_tensor_value_info(name) for name in names],
        [helper.make_empty_tensor_value_info(name) for name in made],
    )  # fmt: skip
    one = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    evaluator = reference.ReferenceEvaluator(one)

    def evaluate(values: Values) -> None:
        results = evaluator.run(None, {name: values[name] for name in names})
        values.update(zip(made, results))

    return evaluate
