"""Whether a case gives the same twice: which cases are run again, and what a difference of two runs is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bench_plugin.checks.operators.stored_runs import CaseRun
from bench_plugin.compare.operators.strict import strict
from bench_plugin.compare.operators.values import Value
from bench_plugin.pipeline.tasks.corpus import CaseData

if TYPE_CHECKING:
    from bench_plugin.compare.operators.bounds import Truth

EVERY = 20  # outside of the profile full, one passing case in so many is run twice


def sampled(case: str, profile: str) -> bool:
    """Whether a case that passes is run a second time: all in the profile full, else always the same sample."""
    return profile == "full" or int(hashlib.sha256(case.encode()).hexdigest(), 16) % EVERY == 0


def same_bits(one: CaseRun, other: CaseRun) -> bool:
    """Whether two runs ended alike: in outputs that are equal bit by bit, or in the same failure."""
    if one.failure is not None or other.failure is not None:
        return (
            one.failure is not None and other.failure is not None and one.failure.signature == other.failure.signature
        )
    return len(one.outputs) == len(other.outputs) and all(map(_same_value, one.outputs, other.outputs))


def compared(data: CaseData, one: CaseRun, other: CaseRun, *, loose: bool) -> CaseRun:
    """The first of two runs of fresh processes, with what the second says of it.

    Where they differ by more than the rule of the case permits, its result is no verdict on any numbers, and
    ``unsteady`` says so. A case whose rule is to be random may differ.
    """
    if data.rule.kind == "random":
        return one
    if same_bits(one, other):
        return replace(one, deterministic=True)
    differ = replace(one, deterministic=False)
    if one.failure is not None or other.failure is not None:
        ended = " and ".join(str(run.failure.symptom) if run.failure else "a result" for run in (one, other))
        return replace(differ, unsteady=f"two fresh processes ended in {ended}") if one.failure is None else differ
    apart = strict(one.outputs, other.outputs, _without_values(data.truths), data.rule, loose=loose)
    if apart.passed:
        return differ
    return replace(differ, unsteady=f"two fresh processes gave two results: {apart.reason}")


def _without_values(truths: Sequence[Truth]) -> list[Truth]:
    """The bounds of the case; the values that are compared are those of the other run."""
    return [replace(truth, values=None) for truth in truths]


def _same_value(one: Value, other: Value) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, list) or isinstance(other, list):
        if not (isinstance(one, list) and isinstance(other, list)):
            return False
        return len(one) == len(other) and all(_same_value(a, b) for a, b in zip(one, other, strict=True))
    if one.dtype != other.dtype or one.values.shape != other.values.shape:
        return False
    if one.values.dtype.kind == "O":
        return bool((one.values == other.values).all())
    return bool(one.values.tobytes() == other.values.tobytes())
