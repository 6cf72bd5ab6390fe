"""Numbers of float64 rounded to the nearest number of a narrower floating-point format, ties to even."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_formats",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Rounding to narrower formats",
    "distribution": "onnx",
    "operations": [],
}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def _through(name: str) -> Callable[[Any], Any]:
    def rounded(values: Any) -> Any:
        import numpy as np

        with np.errstate(over="ignore"):
            return values.astype(name).astype("float64")

    return rounded


def _mantissa(bits: int) -> Callable[[Any], Any]:
    """To the nearest float32 with ``bits`` explicit bits of mantissa, ties to even."""

    def rounded(values: Any) -> Any:
        import numpy as np

        single = np.ascontiguousarray(values, dtype=np.float32)
        raw = single.view(np.uint32)
        drop = 23 - bits
        even = (raw >> np.uint32(drop)) & np.uint32(1)
        kept = (raw + np.uint32((1 << (drop - 1)) - 1) + even) & np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
        found = np.where(np.isfinite(single), kept.view(np.float32), single)
        return found.astype("float64").reshape(np.shape(values))

    return rounded


# Of values [...] of float64, which they stay in; beyond the range of a format they become infinite.
ROUNDINGS = {
    "float32": _through("float32"), "float16": _through("float16"), "bfloat16": _mantissa(7), "tf32": _mantissa(10),
}  # fmt: skip
