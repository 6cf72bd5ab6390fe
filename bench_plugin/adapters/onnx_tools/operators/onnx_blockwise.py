"""MatMulNBits of onnxruntime's domain com.microsoft in float64: weights of few bits with a scale for each block."""

from __future__ import annotations

from typing import Any

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_blockwise",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Products with blocks of few bits in float64",
    "distribution": "onnx",
    "operations": [],
}

DOMAIN = "com.microsoft"


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def operators(base: Any) -> list[Any]:
    """The class for onnx's reference evaluator."""

    class MatMulNBits(base):  # type: ignore[misc]
        """A [..., K] times the transpose of the weights [N, K] that :func:`weights` unpacks, plus a bias [N].

        Raises Unsupported for an order of the blocks (g_idx), which no text defines: onnxruntime 1.31 reads it
        otherwise for 2 bits, and for 4 with zero points, than for 4 without, and refuses it for 8.
        """

        op_domain = DOMAIN

        def _run(
            self, a: Any, packed: Any, scales: Any, zeros: Any = None, groups: Any = None, bias: Any = None,
            K: int = 0, N: int = 0, bits: Any = None, block_size: int = 0, **options: Any,
        ) -> tuple[Any]:  # fmt: skip
            if groups is not None:
                raise Unsupported("MatMulNBits with g_idx has no float64 reference here")
            product = a @ weights(packed, scales, zeros, (N, K), 4 if bits is None else bits, block_size).T
            return (product if bias is None else product + bias,)

    return [MatMulNBits]


def weights(packed: Any, scales: Any, zeros: Any, shape: tuple[int, int], bits: int, block: int) -> Any:
    """The weights [N, K] in float64 of ``packed`` bytes [N, blocks, block * bits / 8], whose low bits come first.

    Scales are [N, blocks] or flat; so are zero points in floating point, while those of integers are packed like the
    weights, each row in whole bytes. Without any a zero point is the middle of the range. Source: onnxruntime's
    docs/ContribOperators.md, com.microsoft.MatMulNBits.
    """
    import numpy as np

    rows, columns = shape
    count = -(-columns // block)
    whole = _unpacked(packed.reshape(rows, -1), bits)[:, : count * block].astype(np.float64)
    steps = np.asarray(scales, np.float64).reshape(rows, count)
    if zeros is None:
        middles = np.full((rows, count), 2.0 ** (bits - 1))
    elif zeros.dtype == np.uint8:
        middles = _unpacked(zeros.reshape(rows, -1), bits)[:, :count].astype(np.float64)
    else:
        middles = np.asarray(zeros, np.float64).reshape(rows, count)
    blocks = whole.reshape(rows, count, block)
    return ((blocks - middles[..., np.newaxis]) * steps[..., np.newaxis]).reshape(rows, -1)[:, :columns]


def _unpacked(packed: Any, bits: int) -> Any:
    """Integers [rows, bytes * 8 / bits] of bytes [rows, bytes]."""
    import numpy as np

    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (packed[..., np.newaxis] >> shifts) & np.uint8(2**bits - 1)
    return parts.reshape(len(packed), -1)
