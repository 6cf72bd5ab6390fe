"""The strength of a verdict: the share of mutants of the model that the very same comparison would call a mismatch.

docs/numbers.md, "Could this model show an error?", defines the mutants, their kinds and the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bench_plugin.compare.measures import distance, mean_over_inputs, scale_of_first
from bench_plugin.compare.mistakes import Likeness, likenesses
from bench_plugin.compare.noise import Noise
from bench_plugin.compare.table import DEFAULTS, Kind, Table, kind_of
from bench_plugin.compare.verdict import MISMATCH, Comparison, Rule

Array = np.ndarray[Any, Any]
Outputs = Mapping[str, Array]

FAR = 1e9  # tolerances: of what has no distance, such as NaN


@dataclass(frozen=True)
class Strength:
    """What a comparison would notice.

    ``table`` holds for each mutant ``kind``, ``killed`` (the comparison calls it a mismatch, or recognises it),
    ``ratio`` (tolerances that it is off, at most 1e9), ``noticeable`` (false where its effect is below the noise of
    float32) and ``site`` (where it was made, if that is known).
    ``applicable`` counts the mutants that a comparison can be asked to notice, ``missed`` names those that it does not
    notice, ``unnoticeable`` those that are too small for float32, ``unchanged`` those that change nothing, with the
    site of each where it is known (``parallel branch zeroed at Concat joined, input 2``).
    ``reason`` says why the verdict would prove nothing, and is empty where it proves something. ``made`` says which
    mistake the run itself made, and is empty where its error is that of none.
    """

    table: Mapping[str, Mapping[str, Any]]
    applicable: int
    missed: tuple[str, ...]
    unnoticeable: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    reason: str = ""
    limits: Table = field(default=DEFAULTS, repr=False)
    made: str = ""

    @property
    def share(self) -> float | None:
        """The share (of 1) of the applicable mutants that are noticed; None where none applies."""
        return 1 - len(self.missed) / self.applicable if self.applicable else None

    @property
    def weak(self) -> str:
        """The remark on a weak verdict: how much it notices and what would pass. Empty where it is strong."""
        if self.share is None or self.share >= self.limits.strong:
            return ""
        noticed = self.applicable - len(self.missed)
        return f"weak: {noticed} of {self.applicable} mutants noticed, {', '.join(self.missed)} would pass"

    @property
    def unexercised(self) -> str:
        """The remark on the parts of the model that these inputs do not exercise; empty where there is none.

        A tool that left such a part out would give the same outputs, so that no verdict is about it.
        """
        named = [name for name in self.unchanged if kind_of(name) is Kind.STRUCTURE]
        return f"not exercised by these inputs: {', '.join(named)}" if named else ""

    @property
    def numbers(self) -> dict[str, Any]:
        """The figures for the row."""
        return {
            "mutants": dict(self.table), "strength": self.share, "mutants_applicable": self.applicable,
            "mutants_missed": list(self.missed), "mutants_not_noticeable": list(self.unnoticeable),
            "mutants_unchanged": list(self.unchanged),
        }  # fmt: skip


class Faults(Mapping[str, Outputs]):
    """The outputs with each mistake, by its name, made anew whenever they are asked for.

    All of them at once, in float64, take more memory than a machine has for a large segmentation.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Outputs]]) -> None:
        """Take for each mistake what makes its outputs [n, ...]."""
        self._makers = makers

    def __getitem__(self, name: str) -> Outputs:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def with_faults(
    truth: Outputs, actual: Outputs, original: Outputs, mutants: Mapping[str, Outputs], *, sign: int = 1
) -> Faults:
    """What the run would have given with each mistake in it: its own outputs and the effect of the mistake.

    ``truth`` and ``actual`` hold [n, ...] of a run that is right; ``original`` and every mutant are outputs of the file
    as it is and with the mistake, both from one runtime, so that their difference is the effect alone. So the run
    keeps the noise of its own precision. Two mistakes need no file: the mean output for every input (of a file
    that has integers alone, the most frequent one), and each input with its neighbour's output. Outputs are matched by
    position. With ``sign`` -1 the effect is taken away: of a run that has the mistake already, what is right is left.
    """
    measured = any(map(_measurable, truth.values()))

    def faulty(outputs: Outputs) -> Outputs:
        triples = zip(actual.items(), original.values(), outputs.values(), strict=False)
        return {name: _with_effect(y, before, after, sign) for (name, y), before, after in triples}

    makers: dict[str, Callable[[], Outputs]] = {
        "mean output": lambda: {name: _usual(t, measured=measured) for name, t in truth.items()},
        "rows permuted": lambda: {name: np.roll(t, 1, axis=0) for name, t in truth.items()},
    }
    return Faults(makers | {mutant: partial(faulty, outputs) for mutant, outputs in mutants.items()})


def strength(
    rule: Rule, actual: Outputs, original: Outputs, mutants: Mapping[str, Outputs], noise: Mapping[str, Noise], *,
    unchanged: Sequence[str] = (), sites: Mapping[str, str] | None = None, right: Outputs | None = None,
) -> Strength:  # fmt: skip
    """What the rule of a comparison says of each mutant (:func:`with_faults`), at the weaker one of its two signs.

    A mutant is noticed, too, where the error of the run with it is the effect of this mutant (compare/mistakes.py);
    ``made`` names the one whose effect the error of the run as it is already is.
    ``actual``, ``original`` and every mutant hold [n, ...] for the first n inputs of the rule; ``noise`` is that of
    float32 by output, below which no detail is noticeable. ``sites`` says where mutants were made. ``right`` are
    outputs [n, ...] that are right, such as those of an emulation: a mutant has to be noticed in them, too, as a run
    that is nearly a mismatch by itself is one with any mistake.
    """
    count = min((len(values) for values in original.values()), default=0)
    truth = {name: values[:count] for name, values in rule.truth.items()}
    bases = [actual] if right is None else [actual, right]
    runs = [{name: values[:count] for name, values in run.items()} for run in bases]
    signed = [[with_faults(truth, run, original, mutants, sign=sign) for sign in (1, -1)] for run in runs]
    rows: dict[str, dict[str, Any]] = {}
    own: dict[str, Likeness] = {}
    for name in signed[0][0]:
        every = [[rule.judge(outputs[name]) for outputs in both] for both in signed]
        noticeable = name not in mutants or _noticeable(rule.truth, original, mutants[name], noise)
        near = [
            likenesses(truth, run, original, mutants[name]) if name in mutants and noticeable else [] for run in runs
        ]
        rows[name] = {
            "killed": all(_noticed(*one, rule.table) for one in zip(every, near, strict=True)),
            "ratio": min(_ratio(found) for both in every for found in both), "noticeable": noticeable,
        }  # fmt: skip
        own.update((name, one) for one in near[0] if one.alike(rule.table))
    judged = located(rows, sites or {})
    found = rated(judged, unchanged=unchanged, exact=rule.precision == "fp32", table=rule.table)
    return replace(found, made=_made(judged, own))


def _noticed(both: Sequence[Comparison], near: Sequence[Likeness], table: Table) -> bool:
    """Whether a mutant is a mismatch at both of its signs, or is recognised by its effect in the error of the run."""
    return all(one.status == MISMATCH for one in both) or any(one.with_effect().alike(table) for one in near)


def located(rows: Mapping[str, Mapping[str, Any]], sites: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The rows of mutants with the ``site`` of each where ``sites`` has it."""
    return {name: {**row, **({"site": sites[name]} if name in sites else {})} for name, row in rows.items()}


def rated(
    rows: Mapping[str, Mapping[str, Any]], *, unchanged: Sequence[str] = (), exact: bool, table: Table = DEFAULTS
) -> Strength:
    """The strength of a comparison that noticed the mutants whose row says ``killed``.

    A detail or a rounding that is below the noise of float32 (``noticeable`` is false) is no mistake that any
    comparison could notice. A comparison proves nothing if it misses a mistake in the structure; if it is ``exact``
    (one of float32) and misses anything but a rounding; if it is another and notices less than ``table.sensitive``.
    """
    kinds = {name: kind_of(name) for name in rows}
    small = (Kind.DETAIL, Kind.ROUNDING)
    unnoticeable = tuple(
        name
        for name, row in rows.items()
        if kinds[name] in small and not row["killed"] and not row.get("noticeable", True)
    )
    counted = [name for name in rows if name not in unnoticeable]
    missed = tuple(name for name in counted if not rows[name]["killed"])
    judged = {name: {"kind": str(kinds[name]), **row} for name, row in rows.items()}
    broken = [name for name in missed if kinds[name] is Kind.STRUCTURE]
    wrong = [name for name in missed if kinds[name] is not Kind.ROUNDING] if exact else []
    reason = ""
    if broken or wrong:
        named = ", ".join(_missed(name, rows[name]) for name in broken or wrong)
        reason = f"not sensitive: this comparison would not notice {named}"
    elif not exact and counted and 1 - len(missed) / len(counted) < table.sensitive:
        noticed = len(counted) - len(missed)
        reason = f"not sensitive: this comparison notices {noticed} of {len(counted)} mutants, not {', '.join(missed)}"
    return Strength(judged, len(counted), missed, unnoticeable, tuple(unchanged), reason, table)


def _made(rows: Mapping[str, Mapping[str, Any]], own: Mapping[str, Likeness]) -> str:
    """Which mistake a run made, of those whose effect its error is: the one that it is most like."""
    if not own:
        return ""
    name = max(own, key=lambda name: own[name].cosine)
    where = f" at {rows[name]['site']}" if "site" in rows[name] else ""
    return (
        f"the error is within the tolerance, but it is that of the mistake {name!r}{where}: of its direction "
        f"(cosine {own[name].cosine:.3f}) and of {own[name].size:.2f} times its size"
    )


def _missed(name: str, row: Mapping[str, Any]) -> str:
    where = f" at {row['site']}" if "site" in row else ""
    return f"{name}{where} ({float(row['ratio']):.2g} tolerances off)"


def _with_effect(actual: Array, before: Array, after: Array, sign: int) -> Array:
    if actual.dtype.kind != "f" or before.dtype.kind != "f" or after.shape != actual.shape:
        return after
    with np.errstate(invalid="ignore", over="ignore"):
        found: Array = actual.astype(np.float64) + sign * (after.astype(np.float64) - before.astype(np.float64))
    return found


def _noticeable(truth: Outputs, before: Outputs, after: Outputs, noise: Mapping[str, Noise]) -> bool:
    """Whether the effect of a mutation [n, ...] is beyond the noise of float32 in any output of ``truth`` [N, ...]."""
    for (name, t), one, other in zip(truth.items(), before.values(), after.values(), strict=False):
        if other.shape != one.shape:
            return True
        if one.dtype.kind != "f":
            if (one != other).any():
                return True
            continue
        if not np.isfinite(other).all():
            return True
        scale = scale_of_first(t[: len(one)], t)
        found, level = distance(other, one, scale), noise.get(name, Noise(0.0, 0.0, 0))
        if found.E > level.E or found.M > level.M:
            return True
    return False


def _ratio(found: Comparison) -> float:
    """How many tolerances the worst output is off."""
    needed = [row.get("needed") for row in found.numbers.get("outputs", ())]
    known = [float(one) for one in needed if one is not None]
    return min(max(known, default=FAR if found.status == MISMATCH else 0.0), FAR)


def _measurable(truth: Array) -> bool:
    return truth.dtype.kind == "f" and truth.size > 0 and bool(np.isfinite(truth).all())


def _usual(truth: Array, *, measured: bool) -> Array:
    """The mean over the inputs; of integers, where no output is ``measured``, the most frequent one of all elements."""
    if _measurable(truth):
        return np.broadcast_to(mean_over_inputs(truth), truth.shape)
    if measured or not truth.size or truth.dtype.kind not in "iub":
        return truth
    values, counts = np.unique(truth, return_counts=True)
    return np.full_like(truth, values[np.argmax(counts)])
