"""The tables of the page of layers, from ``numbers["levels"]`` of a row alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.figures import duration
from bench_plugin.report.parts import number, plural

GIGA, MEGA = 1e9, 1e6
BRIEF = ("layer", "×", "status", "latency", "GOP/s")
HEADS = (
    "layer", "signature", "occurs", "MOP", "status", "E", "latency", "95 % interval", "calls/s", "GOP/s", "share",
)  # fmt: skip
STACKS = ("stack", "kind", "layers", "occurs", "MOP", "status", "E", "latency", "GOP/s", "excess", "95 % interval")
KINDS = (
    "kind", "distinct", "occurs", "time in the model", "share", "latency mean", "latency sd", "GOP/s mean", "GOP/s sd",
)  # fmt: skip


def layers(found: Mapping[str, Any]) -> Table:
    """A line per distinct layer in the order of the model."""
    rows: Sequence[Mapping[str, Any]] = found["layers"]
    total = sum(row["occurrences"] * row["median"] for row in rows if row.get("median"))
    lines: list[tuple[TableCell, ...]] = []
    for row in rows:
        share = row["occurrences"] * row["median"] / total if row.get("median") else None
        rate = row.get("per_second")
        texts = (row["name"], row["signature"], str(row["occurrences"]), _mega(row["operations"]))
        rest = (
            number(row.get("E")), _seconds(row.get("median")), _interval(row.get("interval")),
            "" if rate is None else f"{rate:.3g}", _giga(row), "" if share is None else f"{share:.1%}",
        )  # fmt: skip
        lines.append((*map(TableCell, texts), _status(row), *map(TableCell, rest)))
    return Table(HEADS, tuple(lines), keys=2)


def brief(found: Mapping[str, Any]) -> Table:
    """The same for a terminal, with what it has room for."""
    lines = [
        (
            TableCell(row["signature"]), TableCell(str(row["occurrences"])), _status(row),
            TableCell(_seconds(row.get("median"))), TableCell(_giga(row)),
        )
        for row in found["layers"]
    ]  # fmt: skip
    return Table(BRIEF, tuple(lines))


def stacks(found: Mapping[str, Any]) -> Table:
    """A line per distinct stack and named block."""
    lines = []
    for row in (*found["stacks"], *found["blocks"]):
        excess = row.get("excess") or {}
        known = excess.get("median")
        texts = (
            row["name"], row["kind"], ", ".join(row["layers"]), str(row["occurrences"]), _mega(row["operations"]),
        )  # fmt: skip
        rest = (
            number(row.get("E")), _seconds(row.get("median")), _giga(row), "" if known is None else f"{known:.2f}",
            f"{excess['low']:.2f} to {excess['high']:.2f}" if "low" in excess else "",
        )  # fmt: skip
        lines.append((*map(TableCell, texts), _status(row), *map(TableCell, rest)))
    return Table(STACKS, tuple(lines), keys=3)


def kinds(found: Mapping[str, Any]) -> Table:
    """A line per kind of layer, the one that takes most time first."""
    lines = []
    for row in found["kinds"]:
        means = (row.get("ops_per_s_mean"), row.get("ops_per_s_sd"))
        texts = (
            row["kind"], str(row["distinct"]), str(row["occurrences"]), _seconds(row["seconds"]), f"{row['share']:.1%}",
            _seconds(row.get("latency_mean")), _seconds(row.get("latency_sd")),
            *("" if one is None else f"{one / GIGA:.3g}" for one in means),
        )  # fmt: skip
        lines.append(tuple(map(TableCell, texts)))
    return Table(KINDS, tuple(lines))


def summary(found: Mapping[str, Any]) -> str:
    """One paragraph: how many layers there are, and their sum against the whole model."""
    rows = found["layers"]
    occurs = sum(row["occurrences"] for row in rows)
    verb, threads = "occurs" if len(rows) == 1 else "occur", found["threads"]
    text = f"{len(rows)} distinct layer{plural(len(rows))}, which {verb} {occurs} time{plural(occurs)}; "
    text += f"{threads} thread{plural(threads)}."
    total, model = found["sum"], found["model"]
    if "layers" in total:
        text += f" The sum of all layers, each as often as it occurs, is {duration(total['layers'])}"
        text += f" (a lower bound: {total['missing']} were not timed)." if total["lower_bound"] else "."
    if "median" in model:
        text += f" The whole model takes {duration(model['median'])}"
        ratio = total.get("ratio") or {}
        if "median" in ratio:
            between = f", {ratio['low']:.2f} to {ratio['high']:.2f}" if "low" in ratio else ""
            text += f": sum / model is {ratio['median']:.2f}{between}"
        text += "; its verdict is that of the check of timing."
    elif model.get("reason"):
        text += f" The whole model was not timed: {model['reason']}."
    return text


def _status(row: Mapping[str, Any]) -> TableCell:
    return TableCell(row["status"], row["status"], row.get("reason", ""))


def _seconds(value: float | None) -> str:
    return "" if value is None else duration(value)


def _interval(interval: Mapping[str, Any] | None) -> str:
    return "" if not interval else f"{duration(interval['low'])} to {duration(interval['high'])}"


def _mega(operations: int) -> str:
    return f"{operations / MEGA:.4g}" if operations else ""


def _giga(row: Mapping[str, Any]) -> str:
    rate = row.get("ops_per_s")
    return "" if rate is None else f"{rate / GIGA:.3g}"
