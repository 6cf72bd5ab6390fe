"""The columns of the flat tables, declared once, for exports, docs/data.md, a dataset's metadata and the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bench_plugin.domain.axes import AXES, Axis
from bench_plugin.results.numbers import NUMBERS


class Type(StrEnum):
    """The type of a column: its name in docs/data.md; a value of another type stays in ``more``."""

    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    BOOLEAN = "boolean"
    JSON = "JSON"


@dataclass(frozen=True)
class Column:
    """One column. ``key`` is the key of the row that it holds, empty for one that is made from others.

    ``unit`` is empty for texts, ``1`` for ratios and counts.
    """

    name: str
    type: Type
    meaning: str
    unit: str = ""
    key: str = ""


@dataclass(frozen=True)
class Table:
    """A table of an export: ``name`` is that of its file, ``line`` says in words what one line of it is."""

    name: str
    line: str
    columns: tuple[Column, ...]


# Which of the numbers (results/numbers.py) are one value, with its type and its unit; others are in the column
# ``numbers`` as JSON.
SHARE, RATIO, COUNT = (Type.NUMBER, "1"), (Type.NUMBER, "1"), (Type.WHOLE, "1")
SCALARS: Mapping[str, tuple[Type, str]] = {
    **dict.fromkeys(("E", "M", "tolerance_E", "tolerance_M", "noise_E", "noise_M", "needed", "end_to_end_E"), RATIO),
    "max_abs": (Type.NUMBER, "unit of the output"), "max_rel": RATIO, "cosine": RATIO,
    "truth": (Type.TEXT, ""), "dynamic": (Type.TEXT, ""), "strength": SHARE, "mutants_applicable": COUNT,
    **dict.fromkeys(("detections", "stable", "missed", "extra", "layers", "layer_inputs", "layers_wrong"), COUNT),
    **dict.fromkeys(("worst_overlap", "worst_score", "worst_mask", "accumulated"), RATIO),
    "worst_steps": (Type.NUMBER, "quantisation step"),
    "stable_inputs": COUNT, "inputs": COUNT, "objects": COUNT,
    **dict.fromkeys(("accuracy", "reference_accuracy", "top5", "map", "map50", "reference_map"), SHARE),
    **dict.fromkeys(("mean_precision", "mean_sensitivity", "g_mean", "valid"), SHARE),
    "category": (Type.TEXT, ""), "opset": COUNT, "ir": COUNT, "deterministic": (Type.BOOLEAN, ""),
    "artefact_same_twice": (Type.BOOLEAN, ""), "rule": (Type.TEXT, ""), "strict": (Type.TEXT, ""),
    "stock": (Type.TEXT, ""), "search": (Type.TEXT, ""), "seed": COUNT,
    **dict.fromkeys(("tried", "judged", "known", "refused", "silent", "invalid"), COUNT),
}  # fmt: skip


def _own(name: str, type: Type, meaning: str, unit: str = "") -> Column:
    """A column that holds the key of the row that it has the name of."""
    return Column(name, type, meaning, unit, name)


def _axis(axis: Axis) -> Column:
    type = Type.WHOLE if axis.kind is int else Type.TEXT
    return Column(axis.name, type, f"axis of the cell: {axis.help}", key=axis.name)


WHERE = (
    Column("line", Type.WHOLE, "place of the row among all rows of the export, from 1", "1"),
    _own("schema", Type.WHOLE, "version of the schema of rows", "1"),
    _own("kind", Type.TEXT, "kind of row"),
    _own("run", Type.TEXT, "id of the run that the row is of"),
)
PROVENANCE = (
    Column("started", Type.TEXT, "begin of the run, UTC, ISO 8601"),
    Column("commit", Type.TEXT, "commit of the project that the run was made from"),
    Column("machine", Type.TEXT, "processor, architecture and cores of the machine that ran the benchmark"),
    Column("bench_plugin", Type.TEXT, "version of bench_plugin"),
    Column("contributor", Type.TEXT, "who contributed the row"),
    Column("licence", Type.TEXT, "licence of the row, an SPDX identifier"),
)
MORE = Column(
    "more", Type.JSON, "what the other columns cannot hold: `rest`, keys of the row without a column or with a value "
    "of another type; `absent`, usual keys that the row does not have",
)  # fmt: skip
CELL = Column("cell", Type.TEXT, "the axes as one text, by which a cell is known across runs")
AXIS_COLUMNS = tuple(_axis(axis) for axis in AXES)
NUMBER_COLUMNS = tuple(
    Column(f"numbers_{one.name}", *SCALARS[one.name][:1], one.meaning, SCALARS[one.name][1], one.name)
    for one in NUMBERS if one.name in SCALARS
)  # fmt: skip
ROW_COLUMNS = (
    _own("key", Type.TEXT, "hash of the cell and of everything that decides its outcome"),
    _own("status", Type.TEXT, "the verdict"),
    _own("result", Type.TEXT, "what pytest says: passed, failed, xfailed (a known failure) or skipped"),
    _own("stage", Type.TEXT, "the stage where it went wrong"),
    _own("symptom", Type.TEXT, "how it went wrong"),
    _own("unverified", Type.TEXT, "why nothing was proven"),
    _own("reason", Type.TEXT, "first useful line of the cause"),
    _own("detail", Type.TEXT, "bounded traceback of the cause"),
    _own("expected", Type.JSON, "reason and link of the known failure that it is"),
    _own("converted", Type.BOOLEAN, "the conversion itself succeeded"),
    _own("verified", Type.BOOLEAN, "numbers were compared and agree"),
    _own("reusable", Type.BOOLEAN, "a resumed run may use the row"),
    _own("host", Type.TEXT, "digest of everything of the machine that results depend on"),
    _own("timings", Type.JSON, "seconds per stage", "s"),
    _own("peaks", Type.JSON, "peak resident bytes per stage", "B"),
    _own("versions", Type.JSON, "versions of the distributions that take part"),
    _own("artefacts", Type.JSON, "files that were made, with bytes and hash"),
    _own("stages_cached", Type.JSON, "stages that came from the cache"),
    _own("flags", Type.JSON, "remarks"),
    _own("placement", Type.JSON, "what ran where"),
    _own("retry", Type.JSON, "what was repeated in fresh processes"),
    _own("log", Type.TEXT, "the agent's log, on the machine of the run"),
    _own("settings", Type.JSON, "what the cell was computed with"),
    _own("repro", Type.JSON, "pytest's arguments that run the cell alone"),
    _own("nodeid", Type.TEXT, "pytest's node id"),
)
FIGURES = (
    Column("p50", Type.NUMBER, "median time of one inference on the device; none on emulated boards", "s"),
    Column("instructions", Type.WHOLE, "median instructions of one inference", "1"),
    Column("place", Type.TEXT, "what the time was measured on: board or host, and threads; only equal ones compare"),
)
NUMBERS_LEFT = Column("numbers", Type.JSON, "those of the row's numbers that have no column of their own")
HEADER_COLUMNS = (
    _own("started", Type.TEXT, "begin of the run, UTC, ISO 8601"),
    _own("commit", Type.TEXT, "commit of the project that the run was made from"),
    _own("bench_plugin", Type.TEXT, "version of bench_plugin"),
    _own("python", Type.TEXT, "version of Python"),
    _own("contributor", Type.TEXT, "who contributed the rows"),
    _own("licence", Type.TEXT, "licence of the rows, an SPDX identifier"),
    _own("command", Type.JSON, "command line, without secrets"),
    _own("machine", Type.JSON, "processor, cores, memory in GiB, kernel and C library"),
    _own("host", Type.JSON, "everything of the machine that results depend on, and a digest of it"),
    _own("state", Type.JSON, "what is set and seen on the machine, on which times depend"),
    _own("versions", Type.JSON, "locked versions of every toolchain"),
    _own("seeds", Type.JSON, "seeds of weights and inputs"),
    _own("titles", Type.JSON, "how frameworks, compilers and models are called"),
)
PLAN_COLUMNS = (
    _own("count", Type.WHOLE, "cells that were selected", "1"),
    _own("total", Type.WHOLE, "cells of the whole profile", "1"),
    _own("hash", Type.TEXT, "hash of the selected cells"),
    _own("selection", Type.JSON, "what was selected"),
    _own("totals", Type.JSON, "cells of the whole profile by check"),
    _own("shard", Type.JSON, "of a shard: which one it is, of how many"),
    _own("planned", Type.JSON, "of a shard: the cells of all shards"),
)
OF_CELL = (Column("run", Type.TEXT, "id of the run"), CELL, Column("key", Type.TEXT, "key of the row in that run"))

RUNS = Table("runs", "a run, or a part of one that was resumed", (*WHERE, *HEADER_COLUMNS, MORE))
PLANS = Table("plans", "what a run selected", (*WHERE, *PLAN_COLUMNS, MORE))
CELLS = Table(
    "cells",
    "a cell of a run: computed (kind `cell`), or decided before (kind `declared`)",
    (*WHERE, *PROVENANCE, CELL, *AXIS_COLUMNS, *ROW_COLUMNS, *FIGURES, *NUMBER_COLUMNS, NUMBERS_LEFT, MORE),
)
STAGES = Table(
    "stages",
    "a stage of a cell",
    (
        *OF_CELL,
        Column("stage", Type.TEXT, "name of the stage"),
        Column("seconds", Type.NUMBER, "time of the stage, taken in the agent", "s"),
        Column("peak_bytes", Type.WHOLE, "peak resident memory of the stage", "B"),
    ),
)
# name of the column -> where ``numbers["timing"]`` has it, its type, meaning and unit
TIMED: Mapping[str, tuple[tuple[str, ...], Type, str, str]] = {
    "p50": (("percentiles", "p50"), Type.NUMBER, "median of all samples", "s"),
    "p90": (("percentiles", "p90"), Type.NUMBER, "90th percentile of all samples", "s"),
    "p99": (("percentiles", "p99"), Type.NUMBER, "99th percentile of all samples", "s"),
    "median": (("compute", "median"), Type.NUMBER, "median over launches of their medians, on the device", "s"),
    "mean": (("compute", "mean"), Type.NUMBER, "mean of all samples", "s"),
    "min": (("compute", "min"), Type.NUMBER, "least sample", "s"),
    "max": (("compute", "max"), Type.NUMBER, "largest sample", "s"),
    "mad": (("compute", "mad"), Type.NUMBER, "median absolute deviation", "s"),
    "samples": (("compute", "samples"), Type.WHOLE, "samples of all launches", "1"),
    "launches": (("launches",), Type.WHOLE, "fresh processes that were measured", "1"),
    "interval_low": (("interval", "low"), Type.NUMBER, "lower end of the 95 % interval", "s"),
    "interval_high": (("interval", "high"), Type.NUMBER, "upper end of the 95 % interval", "s"),
    "first_inference": (("first_inference",), Type.NUMBER, "time of the first inference", "s"),
    "throughput": (("throughput", "per_second"), Type.NUMBER, "inferences per second", "1/s"),
    "system_p50": (("system", "percentiles", "p50"), Type.NUMBER, "median time as the caller sees it", "s"),
    "instructions": (("instructions", "median"), Type.WHOLE, "median instructions of one inference", "1"),
}
TIMINGS = Table(
    "timings",
    "a cell that was timed",
    (
        *OF_CELL,
        Column("place", Type.TEXT, "what it was measured on; only equal ones compare"),
        Column("emulated", Type.BOOLEAN, "the board was an emulator: its seconds are no latency"),
        *(Column(name, type, meaning, unit) for name, (_, type, meaning, unit) in TIMED.items()),
    ),
)
SERIES = Table(
    "series",
    "a series over time of a cell that was timed",
    (
        *OF_CELL,
        Column("name", Type.TEXT, "name of the series"),
        Column("unit", Type.TEXT, "unit of its values; samples of latency have none and are in seconds"),
        Column("samples", Type.WHOLE, "number of values", "1"),
        Column("file", Type.TEXT, "side file with the values, named by the digest of its content"),
        Column("times", Type.TEXT, "side file with the times of the values, in seconds"),
        Column("source", Type.TEXT, "file or function that was read"),
        Column("place", Type.TEXT, "what the sensor is at"),
        Column("hz", Type.NUMBER, "how often the sensor has a new value", "Hz"),
        *(
            Column(name, Type.NUMBER, f"{meaning} of all values", "unit of the series")
            for name, meaning in (("mean", "mean"), ("sd", "standard deviation"), ("median", "median"),
                                  ("min", "least"), ("max", "largest"))
        ),
    ),
)  # fmt: skip
LOSSLESS = (RUNS, PLANS, CELLS)  # every row can be made from these again
TABLES = (*LOSSLESS, STAGES, TIMINGS, SERIES)
OF_KIND = {"header": RUNS, "plan": PLANS, "declared": CELLS, "cell": CELLS}
