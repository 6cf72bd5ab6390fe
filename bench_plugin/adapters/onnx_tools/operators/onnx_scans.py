"""Scan in onnx's evaluator with directions and axes of its inputs and outputs, which the evaluator's own refuses."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_scans",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Scan of the ONNX reference",
    "distribution": "onnx",
    "operations": [],
}

WAYS = ("scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions")


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def operators() -> list[Any]:
    """The class for the evaluator: its own, between inputs and outputs that are turned to its only way."""
    forward = importlib.import_module("onnx.reference.ops.op_scan").Scan

    class Scan(forward):  # type: ignore[misc, valid-type]
        op_domain = ""

        def __init__(self, node: Any, parameters: Any) -> None:
            said = {one.name: list(one.ints) for one in node.attribute if one.name in WAYS}
            plain = type(node).FromString(node.SerializeToString())
            del plain.attribute[:]
            plain.attribute.extend(one for one in node.attribute if one.name not in WAYS)
            super().__init__(plain, parameters)
            self._said = said

        def _run(self, *given: Any, **options: Any) -> tuple[Any, ...]:
            states = len(given) - self.num_scan_inputs
            axes, directions = self._ways("input", self.num_scan_inputs)
            turned = [_forward(x, *way) for x, *way in zip(given[states:], axes, directions)]
            found = super()._run(*given[:states], *turned, **options)
            axes, directions = self._ways("output", len(found) - states)
            return (*found[:states], *(_back(y, *way) for y, *way in zip(found[states:], axes, directions)))

        def _ways(self, side: str, count: int) -> tuple[Sequence[int], Sequence[int]]:
            """The axes, and the directions, of the scanned inputs or outputs: 0 where none is said."""
            zeros = [0] * count
            return self._said.get(f"scan_{side}_axes", zeros), self._said.get(f"scan_{side}_directions", zeros)

    return [Scan]


def _forward(x: Any, axis: int, reverse: int) -> Any:
    import numpy as np

    first = np.moveaxis(x, axis, 0)
    return first[::-1] if reverse else first


def _back(y: Any, axis: int, reverse: int) -> Any:
    import numpy as np

    return np.ascontiguousarray(np.moveaxis(y[::-1] if reverse else y, 0, axis))
