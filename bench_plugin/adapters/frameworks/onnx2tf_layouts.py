"""Where onnx2tf has channels last: in inputs that it is told to leave, in outputs that are put back as declared."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
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
REDUCES = re.compile(r"(Reduce\w+|ArgMax|ArgMin)")

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
        if not self.movable or not 3 <= len(self.shape) <= 5 or len(found) != len(self.shape):
            return False
        back = [found[0], found[-1], *found[1:-1]]
        return self.by_last if self._fits(found) and self._fits(back) else self._fits(back)

    def put_back(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The array [N, ...] in the declared layout."""
        import numpy as np

        return np.ascontiguousarray(np.moveaxis(values, -1, 1)) if self.is_channels_last(values.shape) else values

    def _fits(self, sizes: Sizes) -> bool:
        return all(have == want or None in (have, want) for have, want in zip(sizes, self.shape))


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
    without = _without_channels(graph)
    by_channels = _by_channels(graph) - without
    moved = moved or bool(by_channels)  # where nothing is, an output with its axes in another order is a wrong one
    outputs: list[Output] = []
    for value in graph.output:
        # onnx2tf's word for a tensor stays with it when the axis of its channels is gone.
        by_last = value.name in by_channels or (bool(said.get(value.name)) and value.name not in without)
        outputs.append(Output(sizes_of(value), by_last, moved or by_last))
    return outputs


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


def _without_channels(graph: Any) -> set[str]:
    """Names of tensors whose axis of channels was reduced, chosen from or squeezed, and of what is made of them alone:
    the axes that are left are in the file's order.
    """
    stored = _stored(graph)
    known = {tensor.name: tensor for tensor in graph.initializer}
    sizes = {value.name: sizes_of(value) for value in (*graph.input, *graph.value_info)}
    found: set[str] = set()
    for node in graph.node:
        if _is_of_channels(node, stored) or node.op_type == "Unsqueeze":
            continue
        read = [name for name in node.input if name and name not in stored]
        if _drops_channels(node, sizes, known) or (read and all(name in found for name in read)):
            found.update(node.output)
    return found


def _drops_channels(node: Any, sizes: Mapping[str, Sizes], known: Mapping[str, Any]) -> bool:
    """Whether the output lacks the second axis of the node's first input."""
    shape = sizes.get(node.input[0]) if node.input else None
    if shape is None or not 3 <= len(shape) <= 5:
        return False
    attributes = {one.name: one for one in node.attribute}
    if REDUCES.fullmatch(node.op_type):
        kept = attributes["keepdims"].i if "keepdims" in attributes else 1
        default = [0] if node.op_type.startswith("Arg") else []
        return not kept and 1 in _axes(node, attributes, known, len(shape), default)
    if node.op_type == "Gather":
        index = known.get(node.input[1])
        return index is not None and not index.dims and 1 in _axes(node, attributes, {}, len(shape), [0])
    if node.op_type == "Squeeze":
        ones = [axis for axis, size in enumerate(shape) if size == 1]
        return 1 in _axes(node, attributes, known, len(shape), ones)
    return False


def _axes(
    node: Any, attributes: Mapping[str, Any], known: Mapping[str, Any], rank: int, default: Sequence[int]
) -> list[int]:
    """The axes that a node names in an attribute or, where ``known`` has it, in its second input; none below 0."""
    if "axis" in attributes:
        axes = [attributes["axis"].i]
    elif "axes" in attributes:
        axes = list(attributes["axes"].ints)
    elif len(node.input) > 1 and node.input[1] in known:
        import onnx

        axes = onnx.numpy_helper.to_array(known[node.input[1]]).ravel().tolist()
    else:
        axes = list(default)
    return [axis % rank for axis in axes]
