"""Whether a model is mutation-sensitive: a verdict on a model whose broken variants pass would prove nothing.

docs/numbers.md, "Could this model show an error?", defines the mutants and the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench_plugin.compare.measures import distance, mean_over_inputs, scale_of
from bench_plugin.compare.noise import Tolerance
from bench_plugin.compare.table import DEFAULTS, Table

Array = np.ndarray[Any, Any]
Outputs = Mapping[str, Array]


@dataclass(frozen=True)
class Discrimination:
    """``enough`` is true for a mutation-sensitive model; else ``reason`` names the variant with the smallest effect.

    ``table`` holds for each variant the largest ``E`` and ``M`` over its outputs, ``ratio`` (E in tolerances, at most
    1e9) and ``killed`` (whether the pass rule detects it).
    """

    enough: bool
    reason: str
    table: Mapping[str, Mapping[str, Any]]


def discriminate(
    truth: Outputs, mutants: Mapping[str, Outputs], limits: Mapping[str, Tolerance], table: Table = DEFAULTS
) -> Discrimination:
    """Judge whether every variant is off by at least ``table.discrimination`` tolerances, by E, in some output.

    The variants are the mutants, the mean output for every input, and each input with its neighbour's output.
    ``truth`` and every mutant hold [n, ...] for the n inputs that the mutants ran on; ``limits`` is by output.
    """
    variants: dict[str, Outputs] = {
        "mean output": {name: _mean(t) if _measurable(t) else t for name, t in truth.items()},
        "rows permuted": {name: np.roll(t, 1, axis=0) for name, t in truth.items()},
        **mutants,
    }
    found = {variant: _judge(truth, outputs, limits) for variant, outputs in variants.items()}
    weak = [name for name, row in found.items() if row["ratio"] < table.discrimination]
    if not weak:
        return Discrimination(True, "", found)
    weakest = min(weak, key=lambda name: float(found[name]["ratio"]))
    share = f"{len(weak)} of {len(found)} variants below {table.discrimination:g}"
    return Discrimination(False, f"{weakest} is only {found[weakest]['ratio']:.1f} tolerances off ({share})", found)


def _measurable(truth: Array) -> bool:
    return truth.dtype.kind == "f" and truth.size > 0 and bool(np.isfinite(truth).all())


def _mean(truth: Array) -> Array:
    return np.broadcast_to(mean_over_inputs(truth), truth.shape)


def _judge(truth: Outputs, outputs: Outputs, limits: Mapping[str, Tolerance]) -> dict[str, Any]:
    worst = {"E": 0.0, "M": 0.0, "ratio": 0.0}
    killed = False
    for (name, t), y in zip(truth.items(), outputs.values(), strict=False):
        if not _measurable(t) or name not in limits:
            continue
        if y.shape != t.shape or not np.isfinite(y).all():
            return {"E": None, "M": None, "ratio": 1e9, "killed": True}
        found = distance(y, t, scale_of(t))
        limit = limits[name]
        killed |= found.E > limit.E or found.M > limit.M
        worst["E"], worst["M"] = max(worst["E"], found.E), max(worst["M"], found.M)
        worst["ratio"] = max(worst["ratio"], min(found.E / limit.E, 1e9))
    return {**worst, "killed": killed}
