"""One sentence on the shards that rows are of, for the terminal and the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_plugin.report.statuses import NOT_RUN


def shards_remark(rows: Sequence[Mapping[str, Any]]) -> str:
    """Such as ``merged from shards 1, 3 of 3, without shard 2; 4 planned cells were not run``; empty without shards.

    Shards of several plans, such as one for each group of toolchains, are told plan by plan.
    """
    plans: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["kind"] != "plan" or not (shard := row.get("shard")):
            continue
        plan = plans.setdefault(shard["division"], {"count": shard["count"], "have": set(), "all": set()})
        plan["have"].add(shard["index"])
        plan["all"] |= set((row.get("planned") or {}).get("shards", ()))
    if not plans:
        return ""
    told = sorted({_told(plan["have"], plan["all"] - plan["have"], plan["count"]) for plan in plans.values()})
    merged = len({row.get("run") for row in rows if row["kind"] == "header"}) > 1
    left = sum(row.get("status") == NOT_RUN for row in rows)
    parts = [f"merged from {' and '.join(told)}" if merged else " and ".join(told)]
    return "; ".join([*parts, *([f"{left} planned cells were not run"] if left else [])])


def _told(have: Iterable[int], missing: Iterable[int], count: int) -> str:
    text = f"{_numbered(have)} of {count}"
    return f"{text}, without {_numbered(missing)}" if missing else text


def _numbered(numbers: Iterable[int]) -> str:
    shown = sorted(numbers)
    return f"shard{'s' if len(shown) > 1 else ''} {', '.join(map(str, shown))}"
