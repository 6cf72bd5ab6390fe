"""OpenVINO's IR after NNCF read back: layers between FakeQuantize nodes, and the model with those nodes as outputs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench_plugin.adapters.readback import openvino_operators
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Layers, Unread

ADAPTER = {
    "name": "openvino_layers",
    "kind": "tool",
    "toolchain": "openvino",
    "title": "OpenVINO's quantised IR read back",
    "distribution": "openvino",
    "operations": [],
    "uses": ["openvino_operators"],
}

WHOLE = 1e-3  # how far a zero point may be from a whole number, in steps
# What NNCF moves a quantisation across, and what of it may share the range of a Concat behind it.
MOVES = (
    "Reshape", "Squeeze", "Unsqueeze", "Transpose", "MaxPool", "ReduceMax", "Split", "VariadicSplit", "Tile",
    "StridedSlice", "ShuffleChannels", "Broadcast", "Pad", "Minimum", "Maximum", "ConvertLike", "Gather", "GatherND",
    "GatherElements", "ScatterUpdate", "ScatterNDUpdate", "ScatterElementsUpdate", "DepthToSpace", "SpaceToDepth",
    "BatchToSpace", "SpaceToBatch",
)  # fmt: skip
NARROWEST = 8e-4  # the range from which on NNCF leaves both ends as they are; it moves them outwards by as much


class Adapter:
    """Remembers nothing; the adapter of the compiler takes the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("openvino", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def rebuilt(model: Any, fused_sums: bool = False) -> Layers:
    """The layers of a model as it was read; the model then has the tensors that they need as further outputs.

    With ``fused_sums`` what is added to something is no output: OpenVINO adds a convolution to it in place.
    Raises Unsupported for a model without a layer that can be read back.
    """
    _fold_shapes(model)
    first = Reader(_Wanted(), fused_sums)
    first.read_all(list(model.get_ordered_ops()))
    numbers: dict[tuple[str, int], int] = {}
    for number, result in enumerate(model.get_results()):
        numbers.setdefault(_place(result.input_value(0)), number)
    added = len(model.get_results())
    numbers |= {_place(port): added + number for number, port in enumerate(first.wanted)}
    nodes = list(model.get_ordered_ops())
    model.add_outputs([_unrounded(port) for port in first.wanted])
    reader = Reader(numbers, fused_sums)
    reader.read_all(nodes)
    if not any(row.scale is not None for row in reader.layers.results):
        raise Unsupported("no quantised layer of the artefact could be read back")
    return reader.layers


def _fold_shapes(model: Any) -> None:
    """Replace the shapes that are asked for, which are fixed, so that arithmetic of shapes needs no output."""
    numpy, operators = importlib.import_module("numpy"), importlib.import_module("openvino.opset13")
    for node in model.get_ordered_ops():
        if node.get_type_name() == "ShapeOf" and node.input_value(0).get_partial_shape().is_static:
            kind = "int32" if node.output(0).get_element_type().get_type_name() == "i32" else "int64"
            known = operators.constant(numpy.array(list(node.input_value(0).shape), kind))
            for target in node.output(0).get_target_inputs():
                target.replace_source_output(known.output(0))


class _Grid(NamedTuple):
    """The integers of a FakeQuantize, 0 to ``last``: steps and zero points, one or as many as they are per channel."""

    scale: Any
    zero: Any
    last: int


def _grid(node: Any) -> _Grid | None:
    """The integers of a FakeQuantize node; None where what it gives is no such grid."""
    numpy = importlib.import_module("numpy")
    low, high, low_out, high_out = (constant(value) for value in node.input_values()[1:5])
    last = int(node.get_attributes()["levels"]) - 1
    if last < 1 or not (numpy.array_equal(low, low_out) and numpy.array_equal(high, high_out)):
        return None
    scale = (high - low) / last
    if not (scale > 0).all():
        return None
    zero = numpy.rint(-low / scale)
    return None if (abs(-low / scale - zero) > WHOLE).any() else _Grid(scale, zero, last)


def _unrounded(value: Any) -> Any:
    """A value as float32: what a file computes in float16 runs in float32, and only an output of float16 is rounded."""
    narrow = value.get_element_type().get_type_name() in ("f16", "bf16")
    return importlib.import_module("openvino.opset13").convert(value, "f32").output(0) if narrow else value


def _place(value: Any) -> tuple[str, int]:
    return str(value.get_node().get_name()), int(value.get_index())


class _Wanted(dict[tuple[str, int], int]):
    """Numbers of outputs that are not known yet, for the reading that finds out which are needed."""

    def __missing__(self, place: tuple[str, int]) -> int:
        return 0


class Reader:
    """Reads the nodes of a model into layers, in their order. ``numbers`` has the output of each exposed tensor.

    With ``fused_sums`` the quantised summands of a sum stay inside the layers that take it.
    """

    def __init__(self, numbers: Mapping[tuple[str, int], int], fused_sums: bool = False) -> None:
        self.layers = Layers()
        self.wanted: list[Any] = []
        self._numbers = numbers
        self._real: dict[tuple[str, int], str] = {}
        self._fused_sums = fused_sums
        self._varying: set[str] = set()
        self._around: set[str] = set()  # the nodes of layers with a rounding inside
        self._makers: dict[tuple[str, int], str] = {}
        self._weights: dict[str, str] = {}

    def read_all(self, nodes: Sequence[Any]) -> None:
        """Read the nodes of a model in order; ``wanted`` then has the tensors that have to be outputs, once each."""
        self.layers.complete = True
        for node in nodes:
            inputs = (value.get_node().get_name() for value in node.input_values())
            if node.get_type_name() == "Parameter" or not self._varying.isdisjoint(inputs):
                self._varying.add(node.get_name())
        for node in nodes:
            self.read(node)

    def read(self, node: Any) -> None:
        """Read one node, or let its results be given where that cannot be done."""
        kind, name = node.get_type_name(), node.get_name()
        if kind == "Constant":
            return
        if kind == "Parameter":
            self._real[name, 0] = self._given(node.output(0))
            return
        if name not in self._varying:
            return  # constant, evaluated where it is used
        if kind == "Result":
            self._result(node)
        elif kind == "FakeQuantize" and self._quantised(node):
            return
        else:
            self._translated(node, kind, name)

    def _translated(self, node: Any, kind: str, name: str) -> None:
        translate = openvino_operators.TRANSLATIONS.get(kind)
        try:
            if translate is None:
                raise Unread("no translation")
            found = translate(self, node)
        except Unread as why:
            if node.outputs()[0].get_element_type().get_type_name() in ("f32", "f16"):
                self.layers.unread.append(f"{kind}: {why}")
            for index, port in enumerate(node.outputs()):
                self._real[name, index] = self._given(port)
            return
        if any(value.get_node().get_name() in self._around for value in node.input_values()):
            self._around.add(name)
        for index, value in enumerate(found):
            self._real[name, index] = value
            self._makers[name, index] = kind

    def real(self, value: Any) -> str:
        """The real values of an input of a node."""
        node, index = value.get_node(), value.get_index()
        known = self._real.get((node.get_name(), index))
        if known is None:
            self.layers.complete = self.layers.complete and not _rounded(value)
        return known if known is not None else self.layers.constant(constant(value))

    def fixed(self, value: Any) -> Any:
        """The values of a constant input of a node; integers stay integers, as float64 has no largest one of int64."""
        self.layers.complete = self.layers.complete and not _rounded(value)
        return constant(value)

    def varies(self, value: Any) -> bool:
        """Whether an input of a node depends on the model's inputs."""
        return value.get_node().get_name() in self._varying

    def weight(self, value: Any, node: Any) -> str:
        """The real values of the weights of the contraction ``node``, with their steps where they are quantised."""
        made = self.table(value, node)
        if made is None:
            return self.real(value)
        self._weights[node.get_name()] = made
        return made

    def table(self, value: Any, node: Any) -> str | None:
        """The real values of a quantised constant that ``node`` takes; None where it is not quantised."""
        step = _step(value)
        return None if step is None else self.layers.quantised("weight", node.get_type_name(), constant(value), step)

    def summand(self, value: Any, other: Any) -> str:
        """The real values of what is added to ``other``: to a contraction's result a bias, which NNCF may correct."""
        contraction = other.get_node()
        weight = self._weights.get(contraction.get_name())
        if weight is None or self.varies(value):
            return self.real(value)
        return self.layers.corrected(contraction.get_type_name(), constant(value), weight)

    def _given(self, port: Any) -> str:
        number = self._number(port)
        return self.layers.floats(f"t{number}", number, port.get_node().get_type_name())

    def _number(self, port: Any) -> int:
        targets = [one.get_node().get_type_name() for one in port.get_target_inputs()]
        if "Result" not in targets and _place(port) not in {_place(one) for one in self.wanted}:
            self.wanted.append(port)
        return self._numbers[_place(port)]

    def _quantised(self, node: Any) -> bool:
        """Whether a FakeQuantize could be read: a result in integers, which later layers are given."""
        grid = _grid(node)
        if grid is None:
            return False
        source, limits = node.input_value(0), (0, grid.last)
        if self._fused_sums and grid.scale.size == 1 and self._sums(node):
            self._kept_inside(node, grid)
            return True
        number, real = self._number(node.output(0)), self.real(source)
        layer, around = self._makers.get(_place(source), "FakeQuantize"), source.get_node().get_name() in self._around
        if grid.scale.size > 1:
            self._real[node.get_name(), 0] = self.layers.made_on_grid(
                real, number, layer, grid.scale, grid.zero, limits, calibrated=True, dynamic=around
            )
            return True
        scale, zero = float(grid.scale.item()), int(grid.zero.item())
        self.layers.made_integers(
            real, number, layer, scale, zero, limits,
            calibrated=True, shared=_joined(node.output(0)), narrowest=NARROWEST,
            dynamic=around,
        )  # fmt: skip
        self._real[node.get_name(), 0] = self.layers.on_grid(f"t{number}", number, scale, zero)
        return True

    def _kept_inside(self, node: Any, grid: _Grid) -> None:
        name, source = node.get_name(), node.input_value(0)
        scale, zero, shape = float(grid.scale.item()), int(grid.zero.item()), list(node.output(0).shape)
        self._real[name, 0] = self.layers.kept_inside(
            self.real(source), scale, zero, (0, grid.last), shape, rounds=not self._is_fused(node)
        )
        self._around.add(name)

    def _sums(self, node: Any) -> list[Any]:
        """The sums of two tensors that take what a node gives."""
        targets = [one.get_node() for one in node.output(0).get_target_inputs()]
        return [one for one in targets if one.get_type_name() == "Add" and all(map(self.varies, one.input_values()))]

    def _is_fused(self, node: Any) -> bool:
        """Whether a FakeQuantize lies between a convolution and the sum that OpenVINO computes with it.

        It then cuts values off and rounds nothing. Of two convolutions that are added the first one is computed so.
        """
        if not self._is_convolution(node):
            return False
        [behind] = self._sums(node)
        first, second = (one.get_node() for one in behind.input_values())
        is_first = first.get_name() == node.get_name()
        other = second if is_first else first
        return is_first or other.get_type_name() != "FakeQuantize" or not self._is_convolution(other)

    def _is_convolution(self, node: Any) -> bool:
        """Whether a FakeQuantize gives the result of a convolution to a sum alone."""
        if len(node.output(0).get_target_inputs()) != 1 or not self._sums(node):
            return False
        source = node.input_value(0).get_node()
        if source.get_type_name() == "Add":
            source = next((one.get_node() for one in source.input_values() if self.varies(one)), source)
        return source.get_type_name() in ("Convolution", "GroupConvolution")

    def _result(self, node: Any) -> None:
        source = node.input_value(0)
        if source.get_node().get_type_name() in ("FakeQuantize", "Parameter"):
            return  # the number of the first result of a tensor is that of all
        layer, kind = self._makers.get(_place(source)), source.get_element_type().get_type_name()
        if layer is not None and kind == "f32":
            around = source.get_node().get_name() in self._around
            self.layers.made_floats(self.real(source), self._number(source), layer, dynamic=around)
        elif layer is not None and kind in ("i32", "i64"):
            self.layers.made_numbers(self._unmoved(source), self._number(source))

    def _unmoved(self, source: Any) -> str:
        """The real values of a tensor as they were before what leaves the order of their elements as it is."""
        while source.get_node().get_type_name() in ("Reshape", "Squeeze", "Unsqueeze", "Convert"):
            source = source.get_node().input_value(0)
        return self.real(source)


def _joined(port: Any) -> bool:
    """Whether a tensor is joined with others, of which NNCF gives all one range."""
    targets = [one.get_node() for one in port.get_target_inputs()]
    moved = [node for node in targets if node.get_type_name() in MOVES]
    further = any(_joined(one) for node in moved for one in node.outputs())
    return further or any(node.get_type_name() == "Concat" for node in targets)


def constant(value: Any) -> Any:
    """The values of an output that no input of the model decides, as float64 or integers."""
    numpy = importlib.import_module("numpy")
    node = value.get_node()
    if node.get_type_name() == "Constant":
        found = numpy.array(node.data)
        if node.get_output_element_type(0).get_type_name() == "bf16":  # whose bits come as those of float16
            found = (found.view("uint16").astype("uint32") << 16).view("float32")
    else:
        openvino, operators = importlib.import_module("openvino"), importlib.import_module("openvino.opset13")
        single = (
            operators.convert(value, "f32") if value.get_element_type().get_type_name() in ("f16", "bf16") else value
        )
        part = openvino.Model([operators.result(single)], [])
        found = openvino.Core().compile_model(part, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([])[0]
    found = numpy.array(found)
    return found.astype("float64") if found.dtype.kind == "f" else found


def _step(value: Any) -> Any:
    """The steps of quantised weights, shaped as they are; None where they are not quantised.

    They are integers times a scale, or in floating point behind a FakeQuantize, as NNCF leaves those of convolutions in
    groups, which a Reshape makes of the file's.
    """
    numpy = importlib.import_module("numpy")
    node, shapes = value.get_node(), []
    while node.get_type_name() in ("Reshape", "Convert"):
        shapes.append(list(node.output(0).shape))
        node = node.input_value(0).get_node()
    if node.get_type_name() == "FakeQuantize":
        low, high = (constant(end) for end in node.input_values()[3:5])
        step = (high - low) / (int(node.get_attributes()["levels"]) - 1)
    elif node.get_type_name() == "Multiply" and _of_integers(node.input_value(0).get_node()):
        step = constant(node.input_value(1))
    else:
        return None
    step = numpy.broadcast_to(step, list(node.output(0).shape))
    for shape in reversed(shapes):
        step = step.reshape(shape)
    return step


def _rounded(value: Any) -> bool:
    """Whether an output that no input of the model decides is made of rounded numbers."""
    node = value.get_node()
    if node.get_type_name() == "Constant":
        return node.get_element_type().get_type_name() in ("i8", "u8", "i4", "u4")
    return node.get_type_name() == "FakeQuantize" or any(_rounded(one) for one in node.input_values())


def _of_integers(node: Any) -> bool:
    """Whether a node is a constant in integers, as floating point and less its zero point."""
    while node.get_type_name() in ("Convert", "Subtract"):
        node = node.input_value(0).get_node()
    return node.get_type_name() == "Constant" and node.get_element_type().get_type_name() in ("i8", "u8")
