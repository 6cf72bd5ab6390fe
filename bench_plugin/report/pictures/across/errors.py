"""Heat map of the error over its tolerance: one per compiler, a line per model, a column per precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.domain.outcome import Status
from bench_plugin.report.entries import Entry
from bench_plugin.report.pictures.heatmap import heatmap
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.places import MANY
from bench_plugin.report.pictures.reading import digits, number, positive, text
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import precision_of, precision_order, ranks
from bench_plugin.report.statuses import severity

NAME = "errors"
TITLE = "Error over tolerance"
QUESTION = "How near to its tolerance is the error of each compiled model, and where is it beyond?"
MARKS: Mapping[str, str] = {
    Status.SUPPORTED: "✓", Status.MISMATCH: "≠", Status.ERROR: "!", Status.UNSUPPORTED: "–", Status.UNVERIFIED: "?",
    Status.VERSION_SKEW: "v", Status.OUTSIDE_BOUND: "~", Status.BOARD_LOST: "∅",
}  # fmt: skip
LEGEND = "number: E / tolerance · " + " · ".join(f"{mark} {status}" for status, mark in MARKS.items())
DESCRIPTION = (
    "Heat maps of the error E over its tolerance, one for each compiler: a line per model and framework, a column per "
    "precision and target. Every field has its number, where there is one, and a sign for each status but supported: "
    "≠ mismatch, ! error, – unsupported, ? unverified. A check mark is a supported cell that is judged without E."
)
TOOLTIP = ("compiler", "line", "column", "status", "E", "tolerance", "reason", "key")
LEAST = 1e-6  # of the colours; an error of 0 has that of the least


def rows(results: Results) -> list[Record]:
    """A record per compiler, model, framework, precision, graph and target that was computed: the worst of them."""
    return _records(results, others=False)


def others(results: Results) -> list[Record]:
    """The records of the other cells of each field, the worst first."""
    return _records(results, others=True)


def specification() -> Specification:
    """Colours are on a logarithmic scale with white at the tolerance; beyond it they are orange."""
    return heatmap(
        DESCRIPTION,
        divided_by="compiler",
        scale={"type": "log", "domain": [1e-3, 1, 1e3], "range": ["#5fa8d8", "#f6f6f6", "#f08a4b"], "clamp": True},
        legend={"title": "E / tolerance", "format": "~g", "values": [1e-3, 1, 1e3]},
        tooltip=TOOLTIP,
        columns=3,
        key=LEGEND,
    )


def _records(results: Results, *, others: bool) -> list[Record]:
    """The records of the worst cell of each field, or of all others of it, in the order of the picture."""
    fields: dict[tuple[str, str, str], list[tuple[int, Entry]]] = {}
    for at, one in enumerate(results.entries):
        if one.cell.get("check") == "equivalence" and one.status in MARKS and one.key:
            field = text(one.cell, "compiler"), _line(one, results.titles), _column(one)
            fields.setdefault(field, []).append((at, one))
    lines, targets = ranks(line for _, line, _ in fields), ranks(_target(one) for one in results.entries)
    records = []
    for (compiler, line, column), group in fields.items():
        ranked = sorted(group, key=lambda pair: (severity(pair[1].status), -(_ratio(pair[1]) or 0.0)))
        for at, one in ranked[1:] if others else ranked[:1]:
            order = targets[_target(one)] * MANY + precision_order(precision_of(one.cell))
            records.append(_record(one) | {
                "compiler": compiler, "line": line, "column": column, "line_order": lines[line], "column_order": order,
                "number": at,
            })  # fmt: skip
    return sorted(records, key=lambda record: (record["compiler"], record["line_order"], record["column_order"]))


def _record(one: Entry) -> Record:
    ratio, mark = _ratio(one), MARKS[one.status]
    shown = (
        "" if ratio is None else f"{ratio:.2g}" if ratio >= 0.01 or ratio == 0 else f"{ratio:.0e}".replace("e-0", "e-")
    )
    signs = (("" if one.status == Status.SUPPORTED else mark), shown)
    return {
        "value": None if ratio is None else digits(max(ratio, LEAST)), "label": " ".join(filter(None, signs)) or mark,
        "status": one.status, "E": number(one.numbers, "E"), "tolerance": number(one.numbers, "tolerance_E"),
        "reason": one.reason.strip().partition("\n")[0][:120], "key": one.key,
    }  # fmt: skip


def _ratio(one: Entry) -> float | None:
    error, tolerance = number(one.numbers, "E"), positive(one.numbers, "tolerance_E")
    return None if error is None or tolerance is None or error < 0 else error / tolerance


def _line(one: Entry, titles: Mapping[str, Any]) -> str:
    model = text(one.cell, "model")
    return f"{text(titles, 'models', model) or model} ({text(one.cell, 'framework')})"


def _column(one: Entry) -> str:
    target = _target(one)
    return precision_of(one.cell) + ("" if target == "local" else f" on {target}")


def _target(one: Entry) -> str:
    return text(one.cell, "target") or "local"
