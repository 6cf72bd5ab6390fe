"""The layers of a graph that can be quantised one by one, and the steps of their weights and activations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "sensitivity_layers",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers that can be quantised one by one",
    "distribution": "onnx",
    "operations": [],
}

FLOAT = 1  # onnx's number of the type
PER_TENSOR = -1
# What follows a layer without leaving the loop of its kernel: the integers behind it are the result of both.
FOLLOWERS = ("Relu", "Clip")
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# Their weights of the inputs and of the state, [directions, gates * hidden, ...], are inputs 1 and 2, the axis of the
# gates is 1. The state itself never leaves the operator, so no graph can round it.
RECURRENT = ("LSTM", "GRU", "RNN")
RECURRENT_WEIGHTS = ((1, 1), (2, 1))


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Layer(NamedTuple):
    """A convolution, a product of matrices or a recurrent layer.

    ``place`` is that of its node, ``given`` are the places of its activations among the node's inputs. ``weights`` are
    the places of its weights there, each with the axis of the output channels among their dimensions or PER_TENSOR;
    there are none where both sides of a product are computed. ``result`` is the tensor that is quantised behind it.
    """

    name: str
    named: bool
    operator: str
    place: int
    given: tuple[int, ...]
    weights: tuple[tuple[int, int], ...]
    result: str


def layers_of(
    nodes: Sequence[Any], types: Mapping[str, int], weights: Mapping[str, Any], outputs: set[str]
) -> Iterator[Layer]:
    """The layers in the order of the nodes whose weights and activations are float32.

    ``types`` are onnx's numbers by tensor, ``weights`` the stored arrays, ``outputs`` the names of the graph's outputs.
    """
    users: dict[str, list[Any]] = {}
    for node in nodes:
        for name in node.input:
            users.setdefault(name, []).append(node)
    for place, node in enumerate(nodes):
        sides = _sides(node, weights)
        if sides is None:
            continue
        given, stored = sides
        names = [node.input[one] for one in given] + [node.input[one] for one, _ in stored]
        if any(types.get(name, FLOAT) != FLOAT for name in names):
            continue
        result = next(name for name in node.output if name)  # of a recurrent layer all steps, else the last state
        after = users.get(result, [])
        if node.op_type in PRODUCTS and result not in outputs and len(after) == 1 and after[0].op_type in FOLLOWERS:
            result = after[0].output[0]
        yield Layer(node.name or result, bool(node.name), node.op_type, place, given, stored, result)


def _sides(node: Any, weights: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]] | None:
    """The places of a layer's activations and of its weights with their axis of channels; None for what is no layer."""
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type in RECURRENT:
        stored = all(node.input[place] in weights for place, _ in RECURRENT_WEIGHTS)
        return ((0,), RECURRENT_WEIGHTS) if stored and node.input[0] not in weights else None
    if node.op_type not in PRODUCTS:
        return None
    computed = tuple(place for place in (0, 1) if node.input[place] not in weights)
    if not computed:
        return None
    if len(computed) > 1:
        return computed, ()
    weight = 1 - computed[0]
    turned = {one.name: one.i for one in node.attribute}
    if node.op_type in ("Conv", "ConvTranspose"):
        return (computed, ((weight, 0 if node.op_type == "Conv" else 1),)) if weight == 1 else None
    if node.op_type == "Gemm":
        axis = (0 if turned.get("transB") else 1) if weight == 1 else (1 if turned.get("transA") else 0)
        return computed, ((weight, axis),)
    rank = weights[node.input[weight]].ndim
    return computed, ((weight, PER_TENSOR if rank < 2 else rank - 1 if weight == 1 else rank - 2),)


def weight_steps(values: Any, bits: int, axis: int) -> tuple[Any, Any]:
    """Integers [...] of the same shape and their float32 steps, which can be multiplied with them.

    Symmetric: the largest magnitude, of a channel along ``axis`` or of all for PER_TENSOR, is 2^(bits - 1) - 1 steps.
    """
    import numpy as np

    largest = 2 ** (bits - 1) - 1
    others = tuple(place for place in range(values.ndim) if place != axis) if axis != PER_TENSOR else None
    peak = np.abs(values).max(axis=others, keepdims=True) if values.size else np.ones([1] * values.ndim)
    scale = np.where(peak > 0, peak / largest, 1).astype(np.float32)
    return np.clip(np.rint(values / scale), -largest, largest).astype(np.float32), scale


def activation_step(limits: Sequence[float], bits: int) -> tuple[Any, int]:
    """The float32 step and the zero point of an activation: its range with 0 in it is divided into 2^bits - 1 steps."""
    import numpy as np

    low, high = min(limits[0], 0.0), max(limits[1], 0.0)
    levels = 2**bits - 1
    scale = np.float32((high - low) / levels) if high > low else np.float32(1)
    return scale, int(min(max(round(-low / float(scale)), 0), levels))
