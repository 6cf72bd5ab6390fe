"""The places of a heat map of times: platform, mode and datatype against model and precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.picture import Record
from bench_plugin.report.pictures.timed import Timed, fastest, precision_order, ranks, timed

WRONG = "≠"  # before a number that is of a wrong result: the status is never told by colour alone


def best_of_places(entries: Sequence[Entry], titles: Mapping[str, Any]) -> list[tuple[Record, Timed]]:
    """The record of each place with its fastest deployment, ordered as the picture is.

    A place joins settings (batch, threads, streams) and the frameworks that the model came from.
    """
    places: dict[tuple[str, str, str, str], list[Timed]] = {}
    for one in timed(entries, titles):
        if one.per_second is not None:
            places.setdefault((one.task, one.place, one.model, one.precision), []).append(one)
    lines, models = ranks(place for _, place, _, _ in places), ranks(model for _, _, model, _ in places)
    found = []
    for (task, place, model, precision), group in places.items():
        one = fastest(group)
        record: Record = {
            "task": task, "line": place, "column": f"{model} · {precision}",
            "line_order": lines[place], "column_order": models[model] * 100 + precision_order(precision),
            "mark": "" if one.right else WRONG, "status": one.status, "platform": one.platform, "mode": one.mode,
            "datatype": one.datatype, "setting": one.setting, "source": one.source, "key": one.key,
        }  # fmt: skip
        found.append((record, one))
    return sorted(found, key=lambda pair: (str(pair[0]["task"]), pair[0]["line_order"], pair[0]["column_order"]))
