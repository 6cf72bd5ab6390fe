"""ONNX files with integers as QONNX files: every rounding becomes one node Quant, as tools for FPGAs want it.

QONNX has a transformation for it (``QCDQToQuant``), which knows no integers of four bits, and no Clip in front of
QuantizeLinear, where widths below eight bits stand in the files of this project.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "quant_nodes",
    "kind": "tool",
    "toolchain": "hls4ml",
    "title": "QDQ files as QONNX files",
    "distribution": "onnx",
    "operations": [],
}

DOMAIN = "qonnx.custom_op.general"


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class _Width(NamedTuple):
    """The bits of the integers of a node Quant, whether one of them is the sign, and whether the lowest is missing."""

    bits: int
    signed: bool
    narrow: bool


def rewritten(onnx: Any, model: Any) -> dict[str, int]:
    """Write nodes Quant in place of QuantizeLinear and DequantizeLinear; returns how many of which width.

    Stored integers become the numbers that they stand for, with a Quant behind them. Raises Unsupported for blocks, and
    for a QuantizeLinear or a DequantizeLinear without the other.
    """
    graph = model.graph
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    nodes: list[Any] = []
    replaced: set[str] = set()
    widths: dict[str, int] = {}
    for node in graph.node:
        if node.op_type != "DequantizeLinear":
            nodes.append(node)
            continue
        scale, zero, axis = _parameters(node, known)
        if node.input[0] in known:
            integers = known[node.input[0]]
            scale, zero = _along(scale, axis, integers.ndim), _along(zero, axis, integers.ndim)
            given = "%s_real" % node.output[0]
            values = (integers.astype("float64") - zero) * scale
            graph.initializer.append(onnx.numpy_helper.from_array(values.astype("float32"), given))
            width = _of_type(integers.dtype.name)
        else:
            rounding = makers.get(node.input[0])
            if rounding is None or rounding.op_type != "QuantizeLinear":
                raise Unsupported("%s: DequantizeLinear of integers that no QuantizeLinear makes" % node.output[0])
            kind = known[rounding.input[2]].dtype.name if len(rounding.input) > 2 else "uint8"
            replaced.add(rounding.output[0])
            given, width = rounding.input[0], _of_type(kind)
            clip = makers.get(given)
            narrower = _clipped(clip, known, scale, zero) if clip is not None and clip.op_type == "Clip" else None
            if narrower is not None:
                replaced.add(given)
                given, width = makers[given].input[0], narrower
        nodes.append(_quant(onnx, graph, given, node.output[0], scale, zero, width))
        widths["%d bits" % width.bits] = widths.get("%d bits" % width.bits, 0) + 1
    kept = [node for node in nodes if not replaced.intersection(node.output)]
    left = sorted({node.op_type for node in kept if node.op_type.endswith("Linear") or "Integer" in node.op_type})
    if left:
        raise Unsupported("%s computes with integers that no node Quant describes" % ", ".join(left))
    del graph.node[:]
    graph.node.extend(kept)
    if widths and DOMAIN not in {row.domain for row in model.opset_import}:
        model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, 1))
    return dict(sorted(widths.items()))


def _parameters(node: Any, known: Mapping[str, Any]) -> tuple[Any, Any, int]:
    """Scale and zero point, float64 [...], and the axis along which they lie if they are several."""
    import numpy as np

    attributes = {one.name: one.i for one in node.attribute}
    if attributes.get("block_size"):
        raise Unsupported("%s: Quant has no scales in blocks" % node.output[0])
    missing = [name for name in node.input[1:] if name not in known]
    if missing:
        raise Unsupported("%s: the graph computes its parameter %s" % (node.output[0], missing[0]))
    scale = known[node.input[1]].astype(np.float64)
    zero = known[node.input[2]].astype(np.float64) if len(node.input) > 2 else np.zeros_like(scale)
    return scale, zero, attributes.get("axis", 1)


def _along(values: Any, axis: int, rank: int) -> Any:
    """Parameters [channels] in the shape in which they are broadcast to a tensor of a rank; a single one as it is."""
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


def _of_type(kind: str) -> _Width:
    return _Width(int(kind.lstrip("uint")), not kind.startswith("u"), narrow=False)


def _clipped(clip: Any, known: Mapping[str, Any], scale: Any, zero: Any) -> _Width | None:
    """The width of the integers between the ends of a Clip; None where they are not those of integers of some bits."""
    ends = [known.get(name) for name in clip.input[1:]]
    if len(ends) != 2 or any(end is None for end in ends) or scale.size != 1:
        return None
    low, high = (float(end) / float(scale) + float(zero) for end in ends)  # type: ignore[arg-type]
    for narrow in (False, True):
        bits = math.log2(max(high - low + 1 + narrow, 1))
        lowest = 0 if low >= 0 else narrow - 2.0 ** (round(bits) - 1)
        if abs(bits - round(bits)) < 1e-3 and abs(low - lowest) < 1e-3:
            return _Width(round(bits), low < 0, narrow)
    return None


def _quant(onnx: Any, graph: Any, given: str, made: str, scale: Any, zero: Any, width: _Width) -> Any:
    import numpy as np

    names = ["%s_%s" % (made, part) for part in ("step", "origin", "bits")]
    for values, name in zip((scale, zero, width.bits), names):
        graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(values, np.float32), name))
    return onnx.helper.make_node(
        "Quant", [given, *names], [made], "%s_rounded" % made, domain=DOMAIN, signed=int(width.signed),
        narrow=int(width.narrow), rounding_mode="ROUND",
    )  # fmt: skip
