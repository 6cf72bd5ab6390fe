"""Stacked bars of latency: the runtime's own call, and what a request to the deployed model adds to it."""

from __future__ import annotations

from collections.abc import Sequence

from bench_plugin.report.pictures.lines import stacked
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.places import MARK, fastest_on_lines
from bench_plugin.report.pictures.reading import digits
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed

NAME = "latency-parts"
TITLE = "Latency: compute and system"
QUESTION = "How much of the time from a request to its outputs is the runtime's own call?"
PARTS = ("compute: the runtime's own call", "rest of system: request to outputs")
DESCRIPTION = (
    "Stacked bars of median latency in milliseconds, one picture for each model: a line per platform and precision. "
    "The first part is compute, the second what system adds to it. The number behind a bar is the whole; one behind "
    "the sign ≠ is that of a wrong result."
)


def rows(results: Results) -> list[Record]:
    """Two records per deployment that has both times, of the fastest setting of each line.

    Both are medians of samples of their own, so the system's can lie below compute; the second part is 0 then.
    """
    return _records(fastest_on_lines(_with_both(results)))


def others(results: Results) -> list[Record]:
    """The same of the other settings of each line."""
    return _records(fastest_on_lines(_with_both(results), others=True))


def specification() -> Specification:
    """The axis is linear from 0, of each model by itself."""
    tooltip = [{"field": name, "format": ".4~g"} for name in ("compute_ms", "system_ms")]
    tooltip += [{"field": name} for name in ("line", "setting", "source", "status", "key")]
    return stacked(DESCRIPTION, title="ms", parts=PARTS, colours=("#4c78a8", "#f2a65a"), tooltip=tooltip)


def _with_both(results: Results) -> list[Timed]:
    return [one for one in results.timed if one.latency is not None and one.system is not None]


def _records(found: Sequence[tuple[Record, Timed]]) -> list[Record]:
    records: list[Record] = []
    for record, one in found:
        compute, system = digits((one.latency or 0.0) * 1e3), digits((one.system or 0.0) * 1e3)
        whole = max(compute, system)
        shared = record | {
            "compute_ms": compute, "system_ms": system, "end": whole,
            "total": f"{'' if one.right else MARK}{whole:.3g} ms",
        }  # fmt: skip
        for order, value in enumerate((compute, whole - compute)):
            records.append(shared | {"part": PARTS[order], "part_order": order, "value": digits(value)})
    return records
