"""A BatchNormalization that a converter writes as a product and a sum, put back into the constants of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_norms",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Norms written as a product and a sum",
    "distribution": "onnx",
    "operations": [],
}

SCALE, SHIFT = 1, 2  # the inputs of a BatchNormalization that are replaced


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def put_back(
    graph: Any, read: Mapping[tuple[str, int], Any], replaced: Mapping[str, Any], known: Mapping[str, Any]
) -> Iterator[tuple[str, Any, tuple[str, int]]]:
    """The constants of the file that give what was read back: (name, values [channels], the key in ``read``).

    ``read`` has what a norm multiplies by and what it adds, by the norm's output and SCALE or SHIFT. Both depend on the
    scale of the file, and the sum on the mean, too: a norm of which one of the two is neither in ``read`` nor, as the
    file has it, in ``replaced`` is left out, and one whose constants another node reads as well.
    """
    often = _read_often(graph)
    for node in graph.node:
        keys = {(node.output[0], part) for part in (SCALE, SHIFT)} & read.keys()
        if node.op_type != "BatchNormalization" or not keys or often & set(node.input[SCALE : SHIFT + 1]):
            continue
        epsilon = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        mean, variance = known[node.input[3]], known[node.input[4]]
        scale, shift = (read.get((node.output[0], part), replaced.get(node.input[part])) for part in (SCALE, SHIFT))
        if scale is None or shift is None:
            continue
        for part, values in ((SCALE, scale * (variance + epsilon) ** 0.5), (SHIFT, shift + mean * scale)):
            if (node.output[0], part) in keys:
                yield node.input[part], values.astype("float32"), (node.output[0], part)


def _read_often(graph: Any) -> Set[str]:
    """What is read more than once."""
    once: set[str] = set()
    often: set[str] = set()
    for node in graph.node:
        for name in node.input:
            (often if name in once else once).add(name)
    return often
