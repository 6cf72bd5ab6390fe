"""Quantisers of our own for weights: fixed point, and codebooks by k-means; and the error that each leaves.

*Fixed point* [IL.FL] has n = IL + FL bits, the sign among the IL: ``clip(round(x * 2^FL), -2^(n-1), 2^(n-1) - 1) /
2^FL``. It is a uniform quantiser whose step is a power of two. FL may be negative, or larger than n.
*A codebook* of b bits has 2^b values for a whole layer, and an index for every weight. It is found by Lloyd's algorithm
on the sorted values, which begins with the values in the middle of equal parts of their range: the uniform quantiser.
"""

from __future__ import annotations

from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "quantisers",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Fixed point and codebooks",
    "distribution": "numpy",
    "operations": [],
}

ITERATIONS = 100  # at most; Lloyd's algorithm ends where no boundary moves
FLOAT_BYTES = 4
BYTE = 8


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def fixed_point(values: Any, bits: int, fraction: int) -> Any:
    """The integers (float64 [...]) of ``values`` [...] in fixed point of ``bits`` bits, ``fraction`` behind the point.

    The values that they stand for are these integers divided by ``2 ** fraction``.
    """
    import numpy as np

    steps = np.rint(np.asarray(values, dtype=np.float64) * 2.0**fraction)
    return np.clip(steps, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def best_fraction(values: Any, bits: int) -> int:
    """FL with the smallest squared error of ``values`` [...]; of two that are equal the smaller.

    Beyond the one at which nothing is clipped, each bit more halves the step and the range.
    """
    import numpy as np

    values = np.asarray(values, dtype=np.float64)
    peak = float(np.abs(values).max(initial=0.0))
    if not peak:
        return 0
    whole = bits - 1 - int(np.ceil(np.log2(peak)))  # from this one on, the peak is at the border or is clipped
    candidates = range(whole - 1, whole + bits + 1)
    return min(candidates, key=lambda fraction: squared_error(values, restored(values, bits, fraction)))


def restored(values: Any, bits: int, fraction: int) -> Any:
    """``values`` [...] after rounding to fixed point, in float64."""
    return fixed_point(values, bits, fraction) / 2.0**fraction


def codebook(values: Any, bits: int) -> tuple[Any, Any]:
    """The 2^bits ascending values (float64) of a codebook for ``values`` [...], and the index [...] of each value.

    Raises ValueError for more than eight bits.
    """
    import numpy as np

    if not 0 < bits <= BYTE:
        raise ValueError("a codebook has 1 to %d bits, not %d" % (BYTE, bits))
    values = np.asarray(values, dtype=np.float64)
    ordered = np.sort(values, axis=None)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    count, (low, high) = 2**bits, (ordered[0], ordered[-1])
    book = low + (np.arange(count) + 0.5) * (high - low) / count
    before = None
    for _ in range(ITERATIONS):
        borders = np.searchsorted(ordered, (book[1:] + book[:-1]) / 2)
        if before is not None and np.array_equal(borders, before):
            break
        before = borders
        ends = np.concatenate([[0], borders, [ordered.size]])
        sizes = np.diff(ends)
        means = np.diff(sums[ends]) / np.maximum(sizes, 1)
        book = np.where(sizes > 0, means, book)  # a value that nothing is near stays where it is
    index = np.searchsorted((book[1:] + book[:-1]) / 2, values.reshape(-1), side="right").reshape(values.shape)
    return book, index.astype(np.uint8)


def uniform(values: Any, bits: int) -> Any:
    """``values`` [...] at the middle of 2^bits equal parts of their range, in float64: what codebooks begin with."""
    import numpy as np

    values = np.asarray(values, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if low == high:
        return values
    step = (high - low) / 2**bits
    return low + (np.clip(np.floor((values - low) / step), 0, 2**bits - 1) + 0.5) * step


def squared_error(values: Any, found: Any) -> float:
    """The sum of the squared differences of two arrays [...]."""
    import numpy as np

    return float(((np.asarray(values, dtype=np.float64) - found) ** 2).sum())


def codebook_bytes(weights: int, bits: int, value_bytes: int = FLOAT_BYTES) -> float:
    """Bytes of a layer of so many weights with its codebook: ``W * b / 8 + 2^b * bytes``."""
    return weights * bits / BYTE + (1 << bits) * value_bytes


def uniform_bytes(weights: int, bits: int, groups: int, value_bytes: int = FLOAT_BYTES) -> float:
    """Bytes of the same with a scale for each of so many groups in place of a codebook."""
    return weights * bits / BYTE + groups * value_bytes
