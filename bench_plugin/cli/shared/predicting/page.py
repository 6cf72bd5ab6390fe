"""The page of published predictions: what the roofline says of platforms of 2021, beside what was measured then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench_plugin.characterise.prediction.published import MEASUREMENTS, TOPOLOGIES, source_of
from bench_plugin.characterise.prediction.refinement import Refined, refinements
from bench_plugin.characterise.prediction.scores import ABOVE, Pair, Score, best, scored
from bench_plugin.cli.characterise.needs import amount
from bench_plugin.cli.shared.predicting.refined import NONE

COMMAND = "bench predict --published docs/published --page docs/published-predictions.md"
HEAD = """\
# Predicted against measured, 2021

This page is written by `{command}`; do not edit it.

Measurements: {measurements}

Needs: {needs}

Each row is predicted from the published totals of operations and weights and from the peaks in `boards/targets`, as
`min(peak / O, batch * bandwidth / (W * bytes))` inputs per second: weights off the chip, activations on it
([predictions.md](predictions.md)). Where a platform varies threads of single inputs (the DPUs), the batch is 1.
`compute` is the time of the runtime's own call, `system` that of the whole request. Efficiency is measured / predicted.

## Scores

By platform and task; the task is that of the topology's data set. `Pearson` and `rank` are correlations of predicted
and measured inputs per second, `error` is the mean absolute percentage error.
"""
WITH_ALL_ON_CHIP = """\

## With everything on the chip

The same, without the memory term: the assumption that fits designs which keep all their weights on the chip, as FINN's
do. Of `compute` only.
"""
BEST = """\

## The best of each topology

Of every topology, precision and mode the measured row with the most inputs per second.
"""
REFINED = """\

## Refined by other models

What factors of other models do (`bench predict --refine`), where at least two models were measured. Each model is
predicted with the factor of the others: `utilisation` is one factor for all of them, `by size` one for which smaller
runs are less efficient. The last three columns are mean absolute percentage errors; `-` where a model has fewer than
three others, or smaller runs of the others are not less efficient.
"""
OURS = """\

## Ours

The same scores of rows that this project measured.
"""
NO_OURS = """\

## Ours

No row of this project is of these platforms: `bench predict --results ROWS` scores those of a machine here in the same
way.
"""


def published_page(folder: Path, pairs: Sequence[Pair], on_chip: Sequence[Pair], ours: Sequence[Pair]) -> str:
    """The page as Markdown. ``folder`` has the tables, ``on_chip`` are the same pairs with everything on the chip.

    ``ours`` are pairs of our own rows, if there are some.
    """
    head = HEAD.format(
        command=COMMAND, measurements=source_of(folder / MEASUREMENTS), needs=source_of(folder / TOPOLOGIES)
    )
    lines = [head, *_scores(scored(pairs)), "", *_above(pairs)]
    lines += [WITH_ALL_ON_CHIP, *_scores(one for one in scored(on_chip) if one.basis == "compute"), BEST, *_best(pairs)]
    lines += [REFINED, *_refined(refinements(pairs))]
    lines += [OURS, *_scores(scored(ours))] if ours else [NO_OURS.rstrip()]
    return "\n".join(lines).rstrip() + "\n"


def _scores(scores: Iterable[Score]) -> Iterator[str]:
    yield "| platform | task | basis | rows | Pearson | rank | error | efficiency (median) | least | most | above 1 |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for one in scores:
        yield (
            f"| {one.platform} | {one.task} | {one.basis} | {one.pairs} | {_share(one.pearson)} | {_share(one.rank)} | "
            f"{one.mape:.1f} % | {one.efficiency:.3g} | {one.least:.3g} | {one.most:.3g} | {one.above} |"
        )


def _above(pairs: Iterable[Pair]) -> Iterator[str]:
    """Why efficiencies above 1 occur, by the term that was predicted to bind, and how often."""
    counts: dict[str, int] = {}
    for pair in pairs:
        if pair.efficiency > 1:
            counts[pair.prediction.bound] = counts.get(pair.prediction.bound, 0) + 1
    for bound, count in sorted(counts.items()):
        yield f"- Above 1 where the {bound} term binds, in {count} rows: {ABOVE[bound]}."


def _refined(factors: Iterable[Refined]) -> Iterator[str]:
    yield "| platform | datatype | basis | models | rows | as predicted | utilisation | by size |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in factors:
        place = f"{one.target} ({one.mode})" if one.mode else one.target
        sized = NONE if one.sized is None else f"{one.sized:.1f} %"
        yield (
            f"| {place} | {one.datatype} | {one.basis} | {len(one.models)} | {one.pairs} | {one.error:.1f} % | "
            f"{one.refined:.1f} % | {sized} |"
        )


def _best(pairs: Iterable[Pair]) -> Iterator[str]:
    yield "| topology | precision | platform | basis | batch | bound | predicted | measured | efficiency | where |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    chosen = best(pairs, lambda pair: (_key(pair), pair.basis))
    for pair in sorted(chosen, key=lambda pair: (_key(pair), pair.basis)):
        one = pair.prediction
        emulated = f" (in {one.emulated})" if one.emulated else ""
        yield (
            f"| {one.model} | {one.precision}{emulated} | {_platform(pair)} | {pair.basis} | {one.batch} | {one.bound} "
            f"| {_figure(one.inputs_per_s)} | {_figure(pair.measured)} | {pair.efficiency:.3g} | {pair.where} |"
        )


def _key(pair: Pair) -> tuple[str, str, str, str]:
    one = pair.prediction
    return one.model, one.precision, one.target, one.mode


def _platform(pair: Pair) -> str:
    one = pair.prediction
    return f"{one.target} ({one.mode})" if one.mode else one.target


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _figure(value: float) -> str:
    return amount(round(value)) if value >= 1000 else f"{value:.4g}"
