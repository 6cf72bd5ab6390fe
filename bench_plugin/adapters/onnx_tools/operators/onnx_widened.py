"""Operators that onnx's evaluator computes in float32 whatever it is given, in float64."""

from __future__ import annotations

import math
from typing import Any

from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_widened",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Operators of the ONNX reference that round to float32",
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


def operators(base: Any) -> list[Any]:
    """Classes for the evaluator, for every opset. They compute in float64 and give the type of their first input."""
    import numpy as np

    erf = np.vectorize(math.erf, otypes=["d"])

    class Erf(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any) -> tuple[Any]:
            return ((erf(x) if x.size else x).astype(x.dtype),)

    class AffineGrid(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, theta: Any, size: Any, align_corners: Any = None) -> tuple[Any]:
            axes = [_centres(int(one), bool(align_corners)) for one in size[2:]]
            places = np.meshgrid(*axes, indexing="ij")
            points = np.stack([*reversed(places), np.ones_like(places[0])], axis=-1)  # (x, y, 1) or (x, y, z, 1)
            wide = theta.astype(np.float64)
            return (np.einsum("...k,njk->n...j", points, wide).astype(theta.dtype),)

    class LinearAttention(base):  # type: ignore[misc]
        op_domain = ""

        def _run(
            self, query: Any, key: Any, value: Any, state: Any = None, decay: Any = None, beta: Any = None,
            **options: Any,
        ) -> tuple[Any, Any]:  # fmt: skip
            many, few = int(options["q_num_heads"]), int(options["kv_num_heads"])
            q, k, v = _heads(query, many), _heads(key, few), _heads(value, few)
            kind = query.dtype if state is None else state.dtype
            state = np.zeros((len(q), few, k.shape[3], v.shape[3])) if state is None else state.astype(np.float64)
            scale = float(options.get("scale") or 0.0) or 1 / math.sqrt(q.shape[3])
            made = np.empty((*q.shape[:3], v.shape[3]))
            for step in range(q.shape[2]):
                if decay is not None:  # one for each head, or for each element of its keys
                    state = state * np.exp(_heads(decay, few)[:, :, step, :, None])
                written = v[:, :, step]
                if beta is not None:  # one for each head, or for all
                    known = np.einsum("bhdm,bhd->bhm", state, k[:, :, step])
                    written = _heads(beta, beta.shape[2])[:, :, step] * (written - known)
                state = state + k[:, :, step, :, None] * written[:, :, None]
                shared = np.repeat(state, many // few, axis=1)
                made[:, :, step] = scale * np.einsum("bhd,bhdm->bhm", q[:, :, step], shared)
            joined = made.transpose(0, 2, 1, 3).reshape(*query.shape[:2], -1)
            return joined.astype(query.dtype), state.astype(kind)

    class CausalConvWithState(base):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, w: Any, b: Any = None, state: Any = None, activation: Any = None) -> tuple[Any, Any]:
            taps = w.shape[2]
            before = np.zeros((*x.shape[:2], taps - 1), x.dtype) if state is None else state
            padded = np.concatenate([before, x], axis=2)
            wide = padded.astype(np.float64)
            y = sum(wide[:, :, tap : tap + x.shape[2]] * w[:, :, tap].astype(np.float64) for tap in range(taps))
            y = y if b is None else y + b.astype(np.float64).reshape(1, -1, 1)
            if (activation or "none") in ("silu", "swish"):
                y = y / (1 + np.exp(-y))
            return y.astype(x.dtype), padded[:, :, x.shape[2] :]

    def _heads(x: Any, count: int) -> Any:
        return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3).astype(np.float64)

    def _centres(size: int, corners: bool) -> Any:
        if corners:
            return np.linspace(-1, 1, size)
        return (2 * np.arange(size) + 1) / size - 1

    return [Erf, AffineGrid, LinearAttention, CausalConvWithState]
