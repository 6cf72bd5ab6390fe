"""The figures of levels 1 and 2, from the medians of launches: excess of stacks, sums of layers, means per kind.

A launch times every layer, every stack and the model in one process, so that ratios are taken within launches: what
differs from one launch to the next is in both parts of a ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from bench_plugin.compare.times.timing import over_launches

Seconds = Sequence[float]  # the median of each launch, in the order of the launches


def ratio(whole: Seconds, parts: Sequence[Seconds]) -> dict[str, Any]:
    """``whole`` over the sum of its ``parts``, launch by launch: the median, and a 95 % interval of the geometric mean.

    Empty where a part was not timed as often as the whole, or nothing was timed.

    >>> ratio([3.0, 3.0], [[1.0, 1.0], [1.0, 2.0]])["median"]
    1.25
    """
    if not whole or not parts or any(len(one) != len(whole) for one in parts):
        return {}
    values = [mine / sum(each) for mine, *each in zip(whole, *parts, strict=True)]
    found: dict[str, Any] = {"median": median(values), "launches": len(values)}
    if len(values) > 1:
        spread = over_launches([math.log(value) for value in values])  # so that no bound of a ratio is negative
        found |= {"low": math.exp(spread.low), "high": math.exp(spread.high)}
    return found


def sum_of_layers(rows: Iterable[Mapping[str, Any]], whole: Seconds) -> dict[str, Any]:
    """The layers' seconds, each as often as it occurs, against the model's ``whole`` seconds of the same launches.

    ``rows`` are layers with ``occurrences`` and ``launch_medians``. ``missing`` counts the occurrences of layers that
    were not timed; with one of them the sum is a lower bound, which ``ratio`` (sum over model) then is, too.
    """
    rows = list(rows)
    timed = [row for row in rows if row.get("launch_medians")]
    missing = sum(row["occurrences"] for row in rows if not row.get("launch_medians"))
    count = max((len(row["launch_medians"]) for row in timed), default=0)
    even = [row for row in timed if len(row["launch_medians"]) == count]
    missing += sum(row["occurrences"] for row in timed if len(row["launch_medians"]) != count)
    sums = [sum(row["occurrences"] * row["launch_medians"][at] for row in even) for at in range(count)]
    found: dict[str, Any] = {"missing": missing, "lower_bound": missing > 0}
    if sums:
        found["layers"] = median(sums)
    if whole:
        found["model"] = median(whole)
    if sums and len(whole) == len(sums):
        found["ratio"] = ratio(sums, [whole])
    return found


def by_kind(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation over the distinct layers of each kind, the kind that takes most of the time first.

    ``rows`` have ``kind``, ``occurrences``, ``median`` (s) and ``ops_per_s``, the last two where they were timed.
    ``share`` is of the time of all layers that were timed, each as often as it occurs.
    """
    timed = [row for row in rows if row.get("median")]
    total = sum(row["occurrences"] * row["median"] for row in timed)
    found: list[dict[str, Any]] = []
    for kind in dict.fromkeys(row["kind"] for row in timed):
        mine = [row for row in timed if row["kind"] == kind]
        spent = sum(row["occurrences"] * row["median"] for row in mine)
        rates = [row["ops_per_s"] for row in mine if row.get("ops_per_s")]
        found.append(
            {
                "kind": kind, "distinct": len(mine), "occurrences": sum(row["occurrences"] for row in mine),
                "seconds": spent, "share": spent / total, **_spread("latency", [row["median"] for row in mine]),
                **_spread("ops_per_s", rates),
            }
        )  # fmt: skip
    return sorted(found, key=lambda row: -row["seconds"])


def _spread(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Mean and standard deviation; the latter is None of a single value, and nothing is said of none."""
    if not values:
        return {}
    return {f"{name}_mean": fmean(values), f"{name}_sd": stdev(values) if len(values) > 1 else None}
