"""Stacked bars of power: the machine alone, what the loaded model adds, and what inferences add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench_plugin.report.pictures.lines import stacked
from bench_plugin.report.pictures.picture import Record, Specification
from bench_plugin.report.pictures.places import MARK, fastest_on_lines
from bench_plugin.report.pictures.reading import inner, number, text
from bench_plugin.report.pictures.results import Results
from bench_plugin.report.pictures.timed import Timed

NAME = "power"
TITLE = "Power: base, idle and full"
QUESTION = "What does the machine draw by itself, with the model loaded, and while it infers?"
PARTS = ("base: the machine alone", "idle: what the loaded model adds", "full: what inferences add")
PHASES = ("base", "idle", "full")
DESCRIPTION = (
    "Stacked bars of power in watts, one picture for each model: a line per platform, precision and meter. The parts "
    "are the machine alone, what the loaded model adds and what inferences add. The number behind a bar is the power "
    "under full load; one behind the sign ≠ is that of a wrong result."
)


def rows(results: Results) -> list[Record]:
    """Three records per meter that has all three figures, of the fastest setting of each line.

    A part is 0 where its figure lies below that of the part before it.
    """
    return _records(fastest_on_lines(_metered(results)))


def others(results: Results) -> list[Record]:
    """The same of the other settings of each line."""
    return _records(fastest_on_lines(_metered(results), others=True))


def specification() -> Specification:
    """The axis is linear from 0, of each model by itself."""
    tooltip = [{"field": f"{phase}_w", "format": ".4~g"} for phase in PHASES]
    tooltip += [{"field": name} for name in ("line", "meter", "place", "setting", "source", "status", "key")]
    colours = ("#9aa5b1", "#4c78a8", "#f2a65a")
    return stacked(DESCRIPTION, title="W", parts=PARTS, colours=colours, tooltip=tooltip)


def _metered(results: Results) -> list[Timed]:
    return [one for one in results.timed if isinstance(one.entry.numbers.get("power"), Mapping)]


def _records(found: Sequence[tuple[Record, Timed]]) -> list[Record]:
    records: list[Record] = []
    for record, one in found:
        for name, meter in one.entry.numbers["power"].items():
            base, idle, full = (number(meter, phase, "mean") for phase in PHASES)
            if base is None or idle is None or full is None or base < 0:
                continue
            steps = (base, max(idle, base), max(idle, base, full))
            shared = record | {
                "line": f"{record['line']} · {name}", "meter": str(name), "place": text(inner(meter, "place")),
                "base_w": base, "idle_w": idle, "full_w": full, "end": steps[2],
                "total": f"{'' if one.right else MARK}{full:.3g} W",
            }  # fmt: skip
            for order, value in enumerate((steps[0], steps[1] - steps[0], steps[2] - steps[1])):
                records.append(shared | {"part": PARTS[order], "part_order": order, "value": value})
    return records
