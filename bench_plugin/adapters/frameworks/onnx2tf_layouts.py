"""Where onnx2tf has channels last: in inputs that it is told to leave, in outputs that are put back as declared.

Sizes say how an output is laid out, unless they are equal. What onnx2tf says of a tensor then is not always so: it
keeps its word when the axis of the channels is gone, and when it has moved the axes back in front of a node. So values
decide.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bench_plugin.agent.toolkit import versions

if TYPE_CHECKING:
    import numpy as np

ADAPTER = {
    "name": "onnx2tf_layouts",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Layouts of onnx2tf",
    "operations": [],
}

# Operators whose first input onnx2tf takes, and whose output it makes, channels last, by what they are.
OF_CHANNELS = re.compile(
    "(Conv|ConvInteger|ConvTranspose|QLinearConv|AveragePool|MaxPool|LpPool|GlobalAveragePool|GlobalMaxPool"
    "|GlobalLpPool|BatchNormalization|InstanceNormalization|GroupNormalization|LRN|DepthToSpace|SpaceToDepth"
    "|MaxUnpool|MaxRoiPool|Resize|Upsample|GridSample|RoiAlign)"
)

Sizes = Sequence[int | None]


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx2tf", "onnx")

    def reset(self) -> None:
        """Nothing to forget."""


@dataclass(frozen=True)
class Output:
    """An output as the file declares it: ``by_last`` is whether onnx2tf has it channels last, ``movable`` whether it
    can have.
    """

    shape: Sizes
    by_last: bool
    movable: bool

    def is_channels_last(self, found: Sizes) -> bool:
        """Whether an output of the sizes ``found`` came channels last: by its sizes, else by what onnx2tf says."""
        if self.is_open(found):
            return self.by_last
        return self._can_move(found) and self._fits(_moved(found))

    def is_open(self, found: Sizes) -> bool:
        """Whether sizes alone do not say how an output is laid out."""
        return self._can_move(found) and self._fits(found) and self._fits(_moved(found))

    def put_back(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array [N, ...] in the declared layout."""
        import numpy as np

        return np.ascontiguousarray(np.moveaxis(values, -1, 1)) if self.is_channels_last(values.shape) else values

    def _can_move(self, found: Sizes) -> bool:
        return self.movable and 3 <= len(self.shape) <= 5 and len(found) == len(self.shape)

    def _fits(self, sizes: Sizes) -> bool:
        return all(have == want or None in (have, want) for have, want in zip(sizes, self.shape))


def _moved(sizes: Sizes) -> list[int | None]:
    return [sizes[0], sizes[-1], *sizes[1:-1]]


def of_inputs(graph: Any, declared: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Names of inputs whose channels come second, and of those that onnx2tf must leave as they are."""
    stored = _stored(graph)
    read = {node.input[0] for node in graph.node if node.input and _is_of_channels(node, stored)}
    first: list[str] = []
    as_is: list[str] = []
    for value in graph.input:
        if value.name not in stored:
            layout = declared.get(value.name, "")
            channels = layout.startswith("NC") if layout else value.name in read
            (first if channels and 3 <= len(sizes_of(value)) <= 5 else as_is).append(value.name)
    return first, as_is


def of_outputs(graph: Any, net: Any, moved: bool) -> list[Output]:
    """The outputs of a simplified ``graph``, of which onnx2tf has made ``net``; ``moved``: an input was moved."""
    said: Mapping[str, bool] = getattr(net, "onnx_output_layouts", {})
    by_channels = _by_channels(graph)
    moved = moved or bool(by_channels)  # where nothing is, an output with its axes in another order is a wrong one
    by_last = {value.name: value.name in by_channels or bool(said.get(value.name)) for value in graph.output}
    return [Output(sizes_of(value), by_last[value.name], moved or by_last[value.name]) for value in graph.output]


def settled(model: Any, net: Any, outputs: Sequence[Output]) -> tuple[list[Output], list[str]]:
    """The outputs of the file ``model``; where sizes do not say how the net has them, its values on one seeded sample
    do: the order that is nearer to the file's. Remarks say where these cannot be had.
    """
    tf, np = importlib.import_module("tensorflow"), importlib.import_module("numpy")
    found = [y.shape.as_list() if y.shape.rank is not None else [] for y in net.outputs]
    places = [place for place, (one, sizes) in enumerate(zip(outputs, found)) if one.is_open(sizes)]
    if not places:
        return list(outputs), []
    given = _sample(np, model)
    try:
        expected = importlib.import_module("onnx.reference").ReferenceEvaluator(model).run(None, given)
    except Exception as why:  # whatever onnx's evaluator does not compute
        return list(outputs), [f"how outputs of equal sizes are laid out is what onnx2tf says of them: {why}"]
    xs = [tf.cast(x, own.dtype) for x, own in zip(given.values(), net.inputs)]
    ys = tf.nest.flatten(net(xs if len(xs) > 1 else xs[0], training=False))
    made = list(outputs)
    for place in places:
        y, truth = (np.asarray(one, np.float64) for one in (ys[place], expected[place]))
        off = [_distance(np, one, truth) for one in (y, np.moveaxis(y, -1, 1))]
        if off[0] != off[1]:
            made[place] = replace(made[place], by_last=off[1] < off[0])
    return made, []


def _distance(np: Any, values: Any, truth: Any) -> float:
    """The Euclidean norm of a difference; infinite where there is no number for it."""
    off = float(np.linalg.norm(values - truth)) if values.shape == truth.shape else np.inf
    return off if np.isfinite(off) else np.inf


def _sample(np: Any, model: Any) -> dict[str, Any]:
    """Seeded values for the inputs of a file: of integers zeros, which are in every table."""
    onnx, draw, stored = importlib.import_module("onnx"), np.random.default_rng(0), _stored(model.graph)
    given = {}
    for value in model.graph.input:
        if value.name not in stored:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            shape = [size or 1 for size in sizes_of(value)]
            given[value.name] = (draw.normal(size=shape) if dtype.kind == "f" else np.zeros(shape)).astype(dtype)
    return given


def sizes_of(value: Any) -> list[int | None]:
    """The sizes that a file declares for a tensor; None for one that is no number."""
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]


def _stored(graph: Any) -> set[str]:
    return {tensor.name for tensor in graph.initializer}


def _is_of_channels(node: Any, stored: Container[str]) -> bool:
    """Whether onnx2tf takes the node's first input channels last: PRelu's where the slope is stored, which it moves."""
    return bool(OF_CHANNELS.fullmatch(node.op_type)) or (node.op_type == "PRelu" and node.input[1] in stored)


def _by_channels(graph: Any) -> set[str]:
    """Names of tensors that onnx2tf makes channels last, also where it does not report it: after a Squeeze."""
    stored = _stored(graph)
    found: set[str] = set()
    for node in graph.node:
        if _is_of_channels(node, stored) or (node.op_type == "Squeeze" and node.input[0] in found):
            found.update(node.output)
    return found
