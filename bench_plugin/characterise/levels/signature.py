"""What makes two layers the same work: operators, shapes, strides, groups and types, but not the weights' values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from bench_plugin.characterise.facts import Facts, Node
from bench_plugin.characterise.levels.partition import CONTRACTIONS, Unit

CONVOLUTIONS = ("Conv", "ConvTranspose", "ConvInteger", "QLinearConv")
USUAL: Mapping[str, Any] = {"group": 1, "auto_pad": "NOTSET", "alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}
SHORT = {"strides": "stride", "dilations": "dilation"}  # shown only where they are not 1


def identity(unit: Unit, facts: Facts) -> Hashable:
    """The same for two layers that are the same work.

    Small constants of integers count with their values, because axes, sizes and indices decide what is computed.
    """
    places = {name: ("inner", at, slot) for at, node in enumerate(unit.nodes) for slot, name in enumerate(node.outputs)}
    rows = []
    for node in (*unit.carried, *unit.nodes):
        taken = tuple(places.get(name) or _tensor(name, unit, facts) for name in node.inputs)
        attributes = tuple(sorted((key, _plain(value)) for key, value in node.attributes.items()))
        rows.append((node.domain, node.operator, attributes, taken))
    made = tuple(_tensor(name, unit, facts) for name in unit.outputs)
    return tuple(rows), made


def text(unit: Unit, facts: Facts) -> str:
    """The signature for a reader: ``Conv+Relu 1x64x56x56 -> 1x64x56x56 kernel 3x3 pads 1``."""
    taken = " and ".join(dict.fromkeys(_shape(name, facts) for name in unit.inputs))
    made = " and ".join(dict.fromkeys(_shape(name, facts) for name in unit.outputs))
    further = [one for node in unit.nodes[:1] for one in _details(node, facts)]
    types = sorted({facts.tensor(name).dtype for name in unit.inputs} - {"float"})
    return " ".join(["+".join(unit.operators), taken, "->", made, *further, *types])


def kind(unit: Unit, facts: Facts) -> str:
    """The kind of a layer, by which figures are gathered: its first operator, and the kernel of a convolution."""
    first = unit.nodes[0]
    if first.operator not in CONVOLUTIONS:
        return first.operator
    size = "x".join(map(str, _kernel(first, facts)))
    return " ".join(filter(None, (first.operator, size, _grouped(first, facts))))


def _details(node: Node, facts: Facts) -> list[str]:
    """What the shapes of a layer's tensors do not say."""
    found = []
    if node.operator in CONVOLUTIONS:
        found.append(f"kernel {'x'.join(map(str, _kernel(node, facts)))}")
    elif node.attributes.get("kernel_shape"):
        found.append(f"kernel {'x'.join(map(str, node.attributes['kernel_shape']))}")
    for name, word in SHORT.items():
        values = node.attributes.get(name) or ()
        if any(value != 1 for value in values):
            found.append(f"{word} {_joined(values)}")
    if any(node.attributes.get("pads") or ()):
        found.append(f"pads {_joined(node.attributes['pads'])}")
    groups = node.attributes.get("group", 1)
    return [*found, f"groups {groups}"] if groups != 1 else found


def _kernel(node: Node, facts: Facts) -> tuple[int, ...]:
    """Height and width of a convolution's kernel, from its weight where the attribute is left out."""
    said = node.attributes.get("kernel_shape")
    if said:
        return tuple(said)
    slot = 3 if node.operator == "QLinearConv" else 1
    shape = facts.tensor(node.inputs[slot]).known if len(node.inputs) > slot else None
    return tuple(shape[2:]) if shape else ()


def _grouped(node: Node, facts: Facts) -> str:
    """``depthwise`` where every channel has a group of its own, ``grouped`` for other groups; else empty."""
    groups = int(node.attributes.get("group", 1))
    shape = facts.tensor(node.inputs[0]).known
    if groups == 1:
        return ""
    return "depthwise" if shape and len(shape) > 1 and shape[1] == groups else "grouped"


def _joined(values: Any) -> str:
    """``2`` for equal values, else all of them: ``1x2``."""
    return str(values[0]) if len(set(values)) == 1 else "x".join(map(str, values))


def _shape(name: str, facts: Facts) -> str:
    known = facts.tensor(name).known
    return "?" if known is None else "x".join(map(str, known)) or "scalar"


def _tensor(name: str, unit: Unit, facts: Facts) -> Hashable:
    if not name:
        return "left out"
    tensor = facts.tensor(name)
    role = "constant" if tensor.constant else ("taken" if name in unit.inputs else "carried")
    return role, tensor.dtype, tensor.shape, tensor.values


def _plain(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list | tuple) else value


def is_contraction(unit: Unit) -> bool:
    """Whether the layer is a convolution or a fully connected one, whose operations are the published figure."""
    return unit.nodes[0].operator in CONTRACTIONS
