"""Where deployments stand in a picture: lines of platform, mode and datatype, columns of model and precision."""

from __future__ import annotations

from collections.abc import Iterable

from bench_plugin.report.pictures.lines import AGREE, WRONG
from bench_plugin.report.pictures.picture import Record
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed, fastest, precision_order, ranks

MARK = "≠ "  # before a number that is of a wrong result: the status is never told by colour alone
MANY = 100  # more than there are precisions


def best_of_places(results: Results) -> list[tuple[Record, Timed]]:
    """The record of each field of a heat map with its fastest deployment, in the order of the picture.

    A field joins settings (batch, threads, streams) and the frameworks that the model came from.
    """
    fields: dict[tuple[str, str, str, str], list[Timed]] = {}
    for one in results.timed:
        if one.per_second is not None:
            fields.setdefault((one.task, one.place, one.model, one.precision), []).append(one)
    lines, models = ranks(place for _, place, _, _ in fields), ranks(model for _, _, model, _ in fields)
    found = []
    for (task, place, model, precision), group in fields.items():
        one = fastest(group)
        record: Record = {
            "task": task, "line": place, "column": f"{model} · {precision}",
            "line_order": lines[place], "column_order": models[model] * MANY + precision_order(precision),
            "status": one.status, "platform": one.platform, "mode": one.mode, "datatype": one.datatype,
            "setting": one.setting, "source": one.source, "key": one.key,
        }  # fmt: skip
        found.append((record, one))
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
            "setting": one.setting, "source": one.source, "key": one.key,
        }  # fmt: skip
        pairs.append((record, one))
    return sorted(pairs, key=lambda pair: (str(pair[0]["model"]), pair[0]["line_order"], pair[1].batch))


def fastest_on_lines(found: Iterable[Timed]) -> list[tuple[Record, Timed]]:
    """The same of the fastest deployment of each line and model only."""
    groups: dict[tuple[str, str, str], list[Timed]] = {}
    for one in found:
        groups.setdefault((one.model, one.place, one.precision), []).append(one)
    return on_lines(fastest(group) for group in groups.values())


def short(value: float) -> str:
    """A number with three digits, thousands as k and millions as M.

    >>> short(0.05123), short(5.102), short(182.4), short(87576.4), short(2.5e7)
    ('0.0512', '5.1', '182', '87.6k', '25M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
