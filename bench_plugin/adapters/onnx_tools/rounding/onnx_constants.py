"""The constants of an ONNX file in float32, tensors and Constant nodes, and how float16 is made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_constants",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Constants of ONNX files",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_names"],
}

SMALLEST_NORMAL = 2.0**-14  # of float16

Convert = Callable[[Any], Any]
Readers = dict[str, list[Any]]  # the nodes that read a tensor, by its name


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Constant(NamedTuple):
    """A constant: its values, float32 [...], and what adds as many others to it in a model with the same nodes."""

    values: Any
    add: Callable[[Any, Any], None]


@dataclass(frozen=True)
class Place:
    """One rounding that a tool may do. ``weight`` says whether it is that of the weight of a layer.

    ``round`` adds what the rounding changes to the constants of a model that has the same nodes and tensors. ``of``
    names the constant that this is another way to round of. A ``tie`` is the other side of one element of it.
    """

    name: str
    weight: bool
    round: Callable[[Any], None]
    of: str = ""
    tie: bool = False


def constants(onnx: Any, model: Any) -> dict[str, Constant]:
    """The constants of float32 that nodes of the graph read, stored tensors and Constant nodes, by name."""
    read = readers(model)
    found = {}
    for index, tensor in enumerate(model.graph.initializer):
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name in read:
            values = onnx.numpy_helper.to_array(tensor)
            found[tensor.name] = Constant(values, functools.partial(_add_to_tensor, onnx, index))
    for index, node in enumerate(model.graph.node):
        values = _value(onnx, node) if node.op_type == "Constant" else None
        if values is not None:
            found[node.output[0]] = Constant(values, functools.partial(_add_to_node, onnx, index))
    return found


def readers(model: Any) -> Readers:
    """The nodes that read each tensor."""
    found: Readers = {}
    for node in model.graph.node:
        for name in onnx_names.read_by(node):
            found.setdefault(name, []).append(node)
    return found


def to_nearest(values: Any) -> Any:
    """float32 [...] as the nearest float16."""
    return values.astype("float16")


def towards_zero(values: Any) -> Any:
    """float32 [...] cut off: the float16 next to a number that is not beyond it."""
    import numpy as np

    nearest = values.astype("float16")
    beyond = np.abs(nearest.astype("float64")) > np.abs(values.astype("float64"))
    return np.where(beyond, np.nextafter(nearest, np.float16(0)), nearest)


def without_subnormals(values: Any) -> Any:
    """float32 [...] as the nearest float16, of a tie the larger one, and zero where that is no normal number."""
    import numpy as np

    nearest = values.astype("float16")
    exact, size = np.abs(values.astype("float64")), np.abs(nearest.astype("float64"))
    outward = np.nextafter(nearest, np.copysign(np.float16(np.inf), nearest))
    tie = (exact > size) & (np.abs(outward.astype("float64")) - exact == exact - size)
    nearest = np.where(tie, outward, nearest)
    return np.where(np.abs(nearest.astype("float64")) < SMALLEST_NORMAL, np.float16(0), nearest)


def put_number(onnx: Any, index: int, name: str, number: float, model: Any) -> None:
    """Give an attribute of the node ``index`` of the model's graph another number."""
    node = model.graph.node[index]
    kept = [one for one in node.attribute if one.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(name, number)])


def number_of(onnx: Any, node: Any, name: str) -> Any | None:
    """The number of an attribute, or its default, as float32 []; None where neither is known."""
    import numpy as np

    given = next((one.f for one in node.attribute if one.name == name), None)
    if given is None:
        attribute = onnx.defs.get_schema(node.op_type).attributes.get(name)
        given = attribute.default_value.f if attribute is not None else None
    return None if given is None else np.array(given, dtype=np.float32)


def lost(values: Any, convert: Convert) -> Any | None:
    """What a rounding adds to the values, float32 [...]; None where it is nothing, or a value is not finite then."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        added = convert(values).astype("float32") - values
    return added if np.isfinite(added).all() and added.any() else None


def _value(onnx: Any, node: Any) -> Any | None:
    """The values [...] of a Constant node of float32; None for another type."""
    import numpy as np

    given = node.attribute[0]
    if given.name == "value" and given.t.data_type == onnx.TensorProto.FLOAT:
        return onnx.numpy_helper.to_array(given.t)
    if given.name in ("value_float", "value_floats"):
        return np.array(given.f if given.name == "value_float" else list(given.floats), dtype=np.float32)
    return None


def _add_to_tensor(onnx: Any, index: int, added: Any, model: Any) -> None:
    tensor = model.graph.initializer[index]
    values = onnx.numpy_helper.to_array(tensor) + added
    tensor.CopyFrom(onnx.numpy_helper.from_array(values.astype("float32"), tensor.name))


def _add_to_node(onnx: Any, index: int, added: Any, model: Any) -> None:
    node = model.graph.node[index]
    values = (_value(onnx, node) + added).astype("float32")
    del node.attribute[:]
    node.attribute.append(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(values)))
