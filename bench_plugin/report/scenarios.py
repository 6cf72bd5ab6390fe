"""The table of MLPerf's scenarios on the page of times: each figure with its null cost beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bench_plugin.report.blocks import Block, Heading, Paragraph, Table, TableCell
from bench_plugin.report.entries import Entry
from bench_plugin.report.figures import duration

OPENING = (
    "Scenarios of MLPerf's rules, driven by mlcommons-loadgen in the process of the runtime. Each is not an MLPerf "
    "result: the durations, the data and the accuracy runs are not those of the rules. Null is the same scenario whose "
    "queries were answered without an inference: what LoadGen and the callbacks cost (docs/scenarios.md)."
)
HEADS = ("cell", "scenario", "result", "figure", "null", "mean", "null", "queries", "conditions", "note")
TAIL = {"single-stream": "p90", "multi-stream": "p99", "server": "p99"}  # the percentile that MLPerf names
OFFLINE = "offline"


def scenario_blocks(entries: Iterable[Entry], describe: Callable[[Entry], str]) -> list[Block]:
    """The section of the scenarios; nothing where no cell was driven through one."""
    rows = [
        _row(describe(one), name, said)
        for one in entries for name, said in (one.numbers.get("scenarios") or {}).items()
    ]  # fmt: skip
    return [Heading("Scenarios"), Paragraph(OPENING), Table(HEADS, tuple(rows), keys=2)] if rows else []


def _row(cell: str, name: str, said: Mapping[str, Any]) -> tuple[TableCell, ...]:
    if said["status"] != "measured":
        texts = (cell, name, said["status"], said.get("reason", ""), *[""] * (len(HEADS) - 5), said["note"])
        return tuple(map(TableCell, texts))
    null = said.get("null") or {}
    why = said.get("why") or ()
    result = f"{said['result']} ({'; '.join(why)})" if why else str(said["result"])
    texts = (
        cell, name, result, _figure(name, said), _figure(name, null) or str(null.get("reason", "")), _mean(said),
        _mean(null), f"{said['queries']:,}", _conditions(said), said["note"],
    )  # fmt: skip
    return tuple(map(TableCell, texts))


def _figure(name: str, said: Mapping[str, Any]) -> str:
    """The scenario's figure: samples per second offline, else a percentile of the latency of queries."""
    if name == OFFLINE:
        return "" if said.get("per_second") is None else f"{said['per_second']:.4g} samples/s"
    tail = TAIL[name]
    value = (said.get("percentiles") or {}).get(tail)
    return f"too few queries for {tail}" if value is None and said.get("queries") else _of(tail, value)


def _of(tail: str, value: float | None) -> str:
    return "" if value is None else f"{tail} {duration(value)}"


def _mean(said: Mapping[str, Any]) -> str:
    return "" if said.get("mean") is None else duration(said["mean"])


def _conditions(said: Mapping[str, Any]) -> str:
    """What the scenario was set to, in words."""
    settings = said.get("settings") or {}
    texts = [f"{said['seconds']:.2g} s"]
    if "samples_per_query" in settings:
        texts.append(f"{settings['samples_per_query']} samples per query")
    if "target_per_second" in settings:
        texts.append(f"{settings['target_per_second']:.4g} queries/s, bound {duration(settings['bound'])}")
    if said.get("outputs"):
        texts.append(f"outputs: {said['outputs']}")
    return ", ".join(texts)
