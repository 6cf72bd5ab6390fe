"""QONNX files: their nodes Quant and BipolarQuant of any width, rewritten with operators that every tool knows.

Quant is ``(round(clip(x / scale + zero, low, high)) - zero) * scale``; its bit width, sign and ``narrow`` give low and
high (Brevitas and QONNX 1.0, ``qonnx.custom_op.general``). Stored tensors become integers with DequantizeLinear, others
are clipped, and go through QuantizeLinear and DequantizeLinear. The carrier is of eight bits whatever the width is, as
in QONNX's own form QCDQ, because that is what tools take.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from bench_plugin.adapters.characterise.few_bits import low_bits
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract import PrepareCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "qonnx_files",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "QONNX files",
    "distribution": "onnx",
    "operations": [],
    "uses": ["low_bits"],
}

DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")
OPSET = 13  # the first in which QuantizeLinear has an axis
MOST_BITS = 8
ROUNDINGS = ("ROUND", "HALF_EVEN")  # to the nearest, ties to even, as QuantizeLinear does


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class _Quant(NamedTuple):
    """What a node Quant does: scale and zero point [...], the limits of its integers, the carrier, its width."""

    scale: Any
    zero: Any
    low: int
    high: int
    carrier: str
    bits: int


def converted(call: PrepareCall, source: str, target: str) -> dict[str, object]:
    """Write the QONNX file ``source`` without QONNX's operators to ``target``; returns how many nodes of which width.

    Raises Unsupported for what this form cannot say: a width above eight bits, a rounding other than to the nearest,
    parameters that the graph computes, and other operators of QONNX.
    """
    onnx = importlib.import_module("onnx")
    model = onnx.load(source)
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            known[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
    widths: dict[str, int] = {}
    nodes: list[Any] = []
    for node in model.graph.node:
        if node.domain not in DOMAINS:
            nodes.append(node)
            continue
        made, tensors, width = _rewritten(onnx, node, known)
        nodes.extend(made)
        model.graph.initializer.extend(tensors)
        widths[width] = widths.get(width, 0) + 1
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    low_bits.forget_unused(model.graph)
    onnx.save(low_bits.at_opset(onnx, model, OPSET), target)
    return {"quant_nodes": dict(sorted(widths.items())), "carrier": "int8"}


def _rewritten(onnx: Any, node: Any, known: dict[str, Any]) -> tuple[list[Any], list[Any], str]:
    """The nodes and stored tensors in place of a node of QONNX, and its width in words."""
    missing = [name for name in node.input[1:] if name not in known]
    if missing:
        raise Unsupported("%s %s: the graph computes its parameter %s" % (node.op_type, node.name, missing[0]))
    if node.op_type == "BipolarQuant":
        return (*_bipolar(onnx, node, known), "1 bit")
    if node.op_type != "Quant":
        raise Unsupported("%s of %s has no form here" % (node.op_type, node.domain))
    found = _parameters(node, known)
    width = "%d bits" % found.bits
    if node.input[0] in known:
        return (*_stored(onnx, node, found, known[node.input[0]]), width)
    return (*_computed(onnx, node, found), width)


def _parameters(node: Any, known: dict[str, Any]) -> _Quant:
    """Raises Unsupported for what integers of eight bits, rounded to the nearest, do not hold."""
    import numpy as np

    options = {one.name: one.s.decode() if one.s else one.i for one in node.attribute}
    scale, zero, bits = (np.asarray(known[name]) for name in node.input[1:4])
    count = float(bits.reshape(-1)[0])
    signed, narrow = bool(options.get("signed", 1)), bool(options.get("narrow", 0))
    rounding = str(options.get("rounding_mode", "ROUND")).upper()
    if bits.size != 1 or count != int(count) or not 1 <= count <= MOST_BITS:
        raise Unsupported("Quant %s has %s bits; 1 to %d fit" % (node.name, bits.tolist(), MOST_BITS))
    if rounding not in ROUNDINGS:
        raise Unsupported("Quant %s rounds by %s; QuantizeLinear rounds ties to even" % (node.name, rounding))
    low = -(2 ** (int(count) - 1)) + narrow if signed else 0
    high = 2 ** (int(count) - 1) - 1 if signed else 2 ** int(count) - 1 - narrow
    if (zero != np.rint(zero)).any():
        raise Unsupported("Quant %s has a zero point between two integers" % node.name)
    return _Quant(scale.astype(np.float32), zero, low, high, "int8" if signed else "uint8", int(count))


def _axis(values: Any, rank: int) -> int | None:
    """The axis that parameters [...] lie along, broadcast to a tensor of this rank; None for a single one."""
    along = [place for place, size in enumerate(values.shape) if size > 1]
    if len(along) > 1:
        raise Unsupported("parameters of Quant lie along %d axes; DequantizeLinear has one" % len(along))
    return along[0] - values.ndim + rank if along else None


def _stored(onnx: Any, node: Any, found: _Quant, values: Any) -> tuple[list[Any], list[Any]]:
    """A stored tensor as integers with DequantizeLinear."""
    import numpy as np

    steps = np.rint(np.clip(values.astype(np.float64) / found.scale + found.zero, found.low, found.high))
    axis, scale, zero = _parts(found, values.ndim)
    made = low_bits.Quantised(low_bits.as_type(steps, found.carrier), scale, zero, low_bits.Grouping(axis))
    maker, tensors = low_bits.dequantised(onnx, node.output[0], made, node.output[0])
    return [maker], tensors


def _parts(found: _Quant, rank: int) -> tuple[int | None, Any, Any]:
    """Axis, scale and zero point as DequantizeLinear takes them: single numbers, or one for each slice."""
    import numpy as np

    scale, zero = found.scale, low_bits.as_type(found.zero, found.carrier)
    axis = _axis(scale, rank)
    if axis is None:
        return None, scale.reshape(()), zero.reshape(-1)[0].reshape(()) if zero.size == 1 else zero
    return axis, scale.reshape(-1), np.broadcast_to(zero.reshape(-1), (scale.size,)).copy()


def _computed(onnx: Any, node: Any, found: _Quant) -> tuple[list[Any], list[Any]]:
    """A computed tensor, clipped where its integers do not fill the carrier."""
    import numpy as np

    helper, stored, result = onnx.helper, onnx.numpy_helper.from_array, node.output[0]
    if _axis(found.scale, found.scale.ndim) is not None or found.zero.size != 1:
        raise Unsupported("Quant %s has several scales for a tensor that is computed" % node.name)
    _, scale, zero = _parts(found, 0)
    names = ["%s_%s" % (result, part) for part in ("scale", "zero", "low", "high", "clipped", "integers")]
    tensors, nodes, given = [stored(np.asarray(scale), names[0]), stored(np.asarray(zero), names[1])], [], node.input[0]
    if (found.low, found.high) != low_bits.LIMITS[found.carrier]:
        ends = [(end - float(zero)) * float(scale) for end in (found.low, found.high)]
        tensors += [stored(np.float32(end), name) for end, name in zip(ends, names[2:4])]
        nodes.append(helper.make_node("Clip", [given, names[2], names[3]], [names[4]], names[4]))
        given = names[4]
    nodes += [
        helper.make_node("QuantizeLinear", [given, names[0], names[1]], [names[5]], names[5]),
        helper.make_node("DequantizeLinear", [names[5], names[0], names[1]], [result], "%s_real" % result),
    ]
    return nodes, tensors


def _bipolar(onnx: Any, node: Any, known: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The scale with the sign of each element, + for 0."""
    import numpy as np

    scale, result, stored = known[node.input[1]].astype(np.float32), node.output[0], onnx.numpy_helper.from_array
    values = known.get(node.input[0])
    if values is not None:
        return [onnx.helper.make_node("Identity", ["%s_signed" % result], [result])], [
            stored(np.where(values >= 0, scale, -scale).astype(np.float32), "%s_signed" % result)
        ]
    names = ["%s_%s" % (result, part) for part in ("plus", "minus", "zero", "positive")]
    tensors = [stored(array, name) for array, name in zip((scale, -scale, np.zeros((), np.float32)), names)]
    return [
        onnx.helper.make_node("GreaterOrEqual", [node.input[0], names[2]], [names[3]]),
        onnx.helper.make_node("Where", [names[3], names[0], names[1]], [result]),
    ], tensors
