"""Where deployments stand in a picture: lines of platform, mode and datatype, columns of model and precision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench_plugin.report.pictures.lines import AGREE, WRONG
from bench_plugin.report.pictures.picture import Record
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed, precision_order, ranks, speed

MARK = "≠ "  # before a number that is of a wrong result: the status is never told by colour alone
MANY = 100  # more than there are precisions


def best_of_places(results: Results, *, others: bool = False) -> list[tuple[Record, Timed]]:
    """The record of each field of a heat map with its fastest deployment, in the order of the picture.

    A field joins settings (batch, threads, streams) and the frameworks that the model came from. With ``others`` it is
    a record for each of its other deployments, the fastest first.
    """
    fields: dict[tuple[str, str, str, str], list[Timed]] = {}
    for one in results.timed:
        if one.per_second is not None:
            fields.setdefault((one.task, one.place, one.model, one.precision), []).append(one)
    lines, models = ranks(place for _, place, _, _ in fields), ranks(model for _, _, model, _ in fields)
    found: list[tuple[Record, Timed]] = []
    for (task, place, model, precision), group in fields.items():
        pairs: list[tuple[Record, Timed]] = [({
            "task": task, "line": place, "column": f"{model} · {precision}",
            "line_order": lines[place], "column_order": models[model] * MANY + precision_order(precision),
            "status": one.status, "platform": one.platform, "mode": one.mode, "datatype": one.datatype,
            "setting": one.setting, "source": one.source, "key": one.key, "number": one.number,
        }, one) for one in group]  # fmt: skip
        found += _chosen(pairs, others=others)
    return sorted(found, key=lambda pair: (str(pair[0]["task"]), pair[0]["line_order"], pair[0]["column_order"]))


def on_lines(found: Iterable[Timed], *, any_mode: bool = False) -> list[tuple[Record, Timed]]:
    """The record of each deployment on the line of its platform, mode, datatype and precision, within its model.

    With ``any_mode`` a line joins all modes.
    """
    found = list(found)
    places = [one.place_in_any_mode if any_mode else one.place for one in found]
    lines = ranks(places)
    pairs: list[tuple[Record, Timed]] = []
    for one, place in zip(found, places, strict=True):
        record: Record = {
            "model": one.model, "line": f"{place} · {one.precision}",
            "line_order": lines[place] * MANY + precision_order(one.precision),
            "precision": one.precision, "outputs": AGREE if one.right else WRONG, "status": one.status,
            "setting": one.setting, "source": one.source, "key": one.key, "number": one.number,
        }  # fmt: skip
        pairs.append((record, one))
    return sorted(pairs, key=lambda pair: (str(pair[0]["model"]), pair[0]["line_order"], pair[1].batch))


def fastest_on_lines(found: Iterable[Timed], *, others: bool = False) -> list[tuple[Record, Timed]]:
    """The same of the fastest deployment of each line and model only; with ``others``, of all but the fastest."""
    lines: dict[tuple[str, str], list[tuple[Record, Timed]]] = {}
    for pair in on_lines(found):
        lines.setdefault((pair[0]["model"], pair[0]["line"]), []).append(pair)
    return [pair for line in lines.values() for pair in _chosen(line, others=others)]


def _chosen(group: Sequence[tuple[Record, Timed]], *, others: bool) -> list[tuple[Record, Timed]]:
    """The fastest of a group, or all others, the fastest first."""
    ranked = sorted(group, key=lambda pair: speed(pair[1]), reverse=True)
    return ranked[1:] if others else ranked[:1]


def short(value: float) -> str:
    """A number with three digits, thousands as k and millions as M.

    >>> short(0.05123), short(5.102), short(182.4), short(87576.4), short(2.5e7)
    ('0.0512', '5.1', '182', '87.6k', '25M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
