"""The constants of an ONNX file that a tool may store as float16: tensors, Constant nodes, numbers in attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
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
# Numbers in attributes that a converter may write out as tensors of their own.
ATTRIBUTES = {
    "BatchNormalization": ("epsilon",), "Celu": ("alpha",), "Elu": ("alpha",), "Gemm": ("alpha", "beta"),
    "HardSigmoid": ("alpha", "beta"), "InstanceNormalization": ("epsilon",), "LayerNormalization": ("epsilon",),
    "LeakyRelu": ("alpha",), "Selu": ("alpha", "gamma"), "Shrink": ("bias", "lambd"), "ThresholdedRelu": ("alpha",),
}  # fmt: skip
# Operators that read constants as they read results: what only they read is no weight of a layer.
ARITHMETIC = frozenset({"Add", "Concat", "Div", "Expand", "Max", "Min", "Mul", "PRelu", "Pow", "Sub", "Where"})

LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")

Convert = Callable[[Any], Any]
Readers = dict[str, list[Any]]  # the nodes that read a tensor, by its name


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


@dataclass(frozen=True)
class Place:
    """One constant whose value float16 does not have. ``weight`` says whether it is the weight of a layer.

    ``round`` puts the rounded value into a model that has the same nodes and tensors. ``of`` names the constant that
    this is another way to round of.
    """

    name: str
    weight: bool
    round: Callable[[Any], None]
    of: str = ""


class _Stored(NamedTuple):
    """A constant under a name: its values, float32 [...], and how others are put into a model with the same nodes."""

    values: Any
    put: Callable[[Any, Any], None]


def places(onnx: Any, model: Any, convert: Convert) -> list[Place]:
    """The constants of the model's graph that ``convert`` changes: tensors, then numbers in the attributes of nodes.

    Behind them come other ways to round some of them: the reciprocal of a divisor, and weights times the number that
    their input was multiplied by. Those in bodies of Loop, If and Scan are none.
    """
    stored, readers = _stored(onnx, model), _readers(model)
    found = []
    for name, constant in stored.items():
        changed = _rounded(constant.values, convert)
        if changed is not None:
            found.append(Place(name, _is_weight(name, constant, readers), functools.partial(constant.put, changed)))
    found += _attributes(onnx, model, convert)
    found += _reciprocals(stored, readers, convert)
    return [*found, *_multiplied(onnx, model, stored, readers, convert)]


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
    """float32 [...] as the nearest float16, zero where that is no normal number."""
    import numpy as np

    nearest = values.astype("float16")
    return np.where(np.abs(nearest.astype("float64")) < SMALLEST_NORMAL, np.float16(0), nearest)


def _stored(onnx: Any, model: Any) -> dict[str, _Stored]:
    """The constants of float32 that nodes of the graph read, stored tensors and Constant nodes, by name."""
    read = _readers(model)
    found = {}
    for index, tensor in enumerate(model.graph.initializer):
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name in read:
            values = onnx.numpy_helper.to_array(tensor)
            found[tensor.name] = _Stored(values, functools.partial(_put_tensor, onnx, index))
    for index, node in enumerate(model.graph.node):
        values = _value(onnx, node) if node.op_type == "Constant" else None
        if values is not None:
            found[node.output[0]] = _Stored(values, functools.partial(_put_value, onnx, index))
    return found


def _value(onnx: Any, node: Any) -> Any | None:
    """The values [...] of a Constant node of float32; None for another type."""
    import numpy as np

    given = node.attribute[0]
    if given.name == "value" and given.t.data_type == onnx.TensorProto.FLOAT:
        return onnx.numpy_helper.to_array(given.t)
    if given.name in ("value_float", "value_floats"):
        return np.array(given.f if given.name == "value_float" else list(given.floats), dtype=np.float32)
    return None


def _put_tensor(onnx: Any, index: int, values: Any, model: Any) -> None:
    tensor = model.graph.initializer[index]
    tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


def _put_value(onnx: Any, index: int, values: Any, model: Any) -> None:
    node = model.graph.node[index]
    del node.attribute[:]
    node.attribute.append(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(values)))


def _put_number(onnx: Any, index: int, name: str, number: float, model: Any) -> None:
    node = model.graph.node[index]
    kept = [one for one in node.attribute if one.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(name, number)])


def _attributes(onnx: Any, model: Any, convert: Convert) -> Iterator[Place]:
    for index, node in enumerate(model.graph.node):
        for name in ATTRIBUTES.get(node.op_type, ()) if node.domain in ("", "ai.onnx") else ():
            number = _number(onnx, node, name)
            changed = _rounded(number, convert) if number is not None else None
            if changed is not None:
                put = functools.partial(_put_number, onnx, index, name, float(changed))
                yield Place(f"{node.name or node.output[0]}.{name}", False, put)


def _reciprocals(stored: dict[str, _Stored], readers: Readers, convert: Convert) -> Iterator[Place]:
    """Divisors that a tool multiplies by the reciprocal of, which it rounds."""
    for name, constant in stored.items():
        only = all(node.op_type == "Div" and node.input[1] == name for node in readers[name])
        if only and constant.values.all():
            changed = _rounded(1 / constant.values, convert)
            if changed is not None and changed.all():
                yield Place(f"1/{name}", False, functools.partial(constant.put, 1 / changed), name)


def _multiplied(
    onnx: Any, model: Any, stored: dict[str, _Stored], readers: Readers, convert: Convert
) -> Iterator[Place]:
    """Weights that a tool multiplies by the number that their input was multiplied by, and rounds then."""
    for node in model.graph.node:
        factor = _factor(onnx, node, stored)
        if not factor:
            continue
        for layer in readers.get(node.output[0], ()):
            name = layer.input[1] if layer.op_type in LAYERS and layer.input[0] == node.output[0] else ""
            if name in stored and len(readers[name]) == 1:
                changed = _rounded(stored[name].values * factor, convert)
                if changed is not None:
                    put = functools.partial(stored[name].put, changed / factor)
                    yield Place(f"{name} times {factor:g}", True, put, name)


def _factor(onnx: Any, node: Any, stored: dict[str, _Stored]) -> Any | None:
    """The number, float32 [], that a node multiplies another tensor by; None where it does not."""
    if node.op_type == "Selu":
        return _number(onnx, node, "gamma")
    factors = [stored[name].values for name in node.input if name in stored] if node.op_type == "Mul" else []
    return factors[0].reshape(()) if len(factors) == 1 and factors[0].size == 1 else None


def _number(onnx: Any, node: Any, name: str) -> Any | None:
    """The number of an attribute, or its default, as float32 []; None where neither is known."""
    import numpy as np

    given = next((one.f for one in node.attribute if one.name == name), None)
    if given is None:
        known = onnx.defs.get_schema(node.op_type).attributes.get(name)
        given = known.default_value.f if known is not None else None
    return None if given is None else np.array(given, dtype=np.float32)


def _rounded(values: Any, convert: Convert) -> Any | None:
    """The values [...] as they are after the rounding, in float32; None where all are the same or one is not finite."""
    import numpy as np

    with np.errstate(over="ignore"):
        changed = convert(values).astype("float32")
    return changed if np.isfinite(changed).all() and (changed != values).any() else None


def _is_weight(name: str, constant: _Stored, readers: Readers) -> bool:
    return constant.values.ndim >= 2 and not {node.op_type for node in readers[name]} <= ARITHMETIC


def _readers(model: Any) -> Readers:
    """The nodes that read each tensor."""
    found: Readers = {}
    for node in model.graph.node:
        for name in onnx_names.read_by(node):
            found.setdefault(name, []).append(node)
    return found
