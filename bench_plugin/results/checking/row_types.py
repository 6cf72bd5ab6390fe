"""The schema of rows: what every row must have and of which type, for rows that somebody else contributes.

Keys may be added within a version of the schema, so keys that are not here are allowed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from bench_plugin.domain.axes import AXES, Check
from bench_plugin.domain.outcome import Stage, Status, Symptom, Unverified
from bench_plugin.domain.records import NOT_BLANK, Record, about
from bench_plugin.results.rows import SCHEMA
from bench_plugin.results.tables.columns import NUMBER_COLUMNS, Type

NOT_RUN = "not run"  # what a merge of shards says of a planned cell that no shard has a row of
Statuses: Any = Literal[(*(str(one) for one in Status), NOT_RUN)]
Result = Literal["passed", "failed", "xfailed", "skipped"]
TIME = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"
PYTHON: dict[Type, Any] = {Type.TEXT: str, Type.WHOLE: int, Type.NUMBER: float, Type.BOOLEAN: bool}
REQUIRED_AXES = ("check", "model", "framework")
Seconds = Annotated[float, about("seconds", ge=0)]
Bytes = Annotated[int, about("bytes", ge=0)]


def _axis(name: str, kind: Any, help: str) -> tuple[Any, ...]:
    kind = Check if name == "check" else kind
    described = Annotated[kind, about(help)]
    return (name, described) if name in REQUIRED_AXES else (name, described | None, None)


OpenRecord: Any = msgspec.defstruct(
    "OpenRecord", [], bases=(Record,), frozen=True, forbid_unknown_fields=False, kw_only=True
)
Axes: Any = msgspec.defstruct(
    "Axes", [_axis(one.name, one.kind, one.help) for one in AXES], bases=(OpenRecord,), frozen=True, kw_only=True
)
Axes.__doc__ = "The axes of a cell; those that its check does not have are absent."
Numbers: Any = msgspec.defstruct(
    "Numbers",
    [(one.key, Annotated[PYTHON[one.type], about(one.meaning)] | None, None) for one in NUMBER_COLUMNS],
    bases=(OpenRecord,), frozen=True, kw_only=True,
)  # fmt: skip
Numbers.__doc__ = "What was measured; null where it does not apply, or where the cell did not get that far."


class Row(Record, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What every row has."""

    schema: Annotated[Literal[1], about(f"version of the schema of rows: {SCHEMA}")]
    run: Annotated[str, about("id of the run that the row is of", pattern=NOT_BLANK)]


class HeaderRow(Row, frozen=True, kw_only=True, tag_field="kind", tag="header"):
    """The run: where the rows after it come from."""

    started: Annotated[str, about("begin of the run, UTC, as 2026-11-21T20:49:52Z", pattern=TIME)]
    commit: Annotated[str, about("commit of the project; empty where it is not a git checkout")]
    bench_plugin: Annotated[str, about("version of bench_plugin", pattern=NOT_BLANK)]
    machine: Annotated[dict[str, Any], about("processor, cores, memory, kernel and C library")]
    command: Annotated[list[str], about("the command line")]
    versions: Annotated[dict[str, dict[str, str]], about("locked versions of every toolchain")]
    contributor: Annotated[str, about("who contributes the rows")] = ""
    known_failures: Annotated[str, about("commit whose known failures were applied after the run")] = ""
    licence: Annotated[str, about("licence of the rows, an SPDX identifier such as CC-BY-4.0")] = ""


class PlanRow(Row, frozen=True, kw_only=True, tag_field="kind", tag="plan"):
    """What was selected."""

    count: Annotated[int, about("cells that were selected", ge=0)]
    total: Annotated[int, about("cells of the whole profile", ge=0)]
    hash: Annotated[str, about("hash of the selected cells")]


class DeclaredRow(Row, frozen=True, kw_only=True, tag_field="kind", tag="declared"):
    """A cell that was decided before the run."""

    cell: Annotated[Axes, about("the axes of the cell")]
    status: Annotated[Statuses, about("the verdict")]
    reason: Annotated[str, about("why it was decided before the run")]


class CellRow(Row, frozen=True, kw_only=True, tag_field="kind", tag="cell"):
    """A computed cell with its verdict."""

    key: Annotated[str, about("hash of the cell and of everything that decides its outcome", pattern=NOT_BLANK)]
    cell: Annotated[Axes, about("the axes of the cell")]
    check: Annotated[Check, about("the kind of check, as in the axes")]
    status: Annotated[Statuses, about("the verdict")]
    result: Annotated[Result, about("what pytest says of it")]
    stage: Annotated[Stage | None, about("the stage where it went wrong")]
    symptom: Annotated[Symptom | None, about("how it went wrong")]
    unverified: Annotated[Unverified | None, about("why nothing was proven; null for every other status")]
    expected: Annotated[dict[str, Any] | None, about("reason and link of the known failure that it is")]
    reason: Annotated[str, about("first useful line of the cause")]
    detail: Annotated[str, about("bounded traceback of the cause")]
    converted: Annotated[bool, about("the conversion itself succeeded")]
    verified: Annotated[bool, about("numbers were compared and agree")]
    numbers: Annotated[Numbers, about("what was measured")]
    timings: Annotated[dict[str, Seconds], about("seconds per stage")]
    peaks: Annotated[dict[str, Bytes], about("peak resident bytes per stage")]
    versions: Annotated[dict[str, str], about("versions of the distributions that take part")]
    artefacts: Annotated[dict[str, Any], about("files that were made, with bytes and hash")]
    stages_cached: Annotated[list[str], about("stages that came from the cache")]
    flags: Annotated[list[str], about("remarks")]
    placement: Annotated[dict[str, Any], about("what ran where")]
    retry: Annotated[dict[str, Any], about("what was repeated in fresh processes")]
    reusable: Annotated[bool, about("a resumed run may use the row")]
    settings: Annotated[dict[str, Any], about("what the cell was computed with")]
    host: Annotated[str, about("digest of everything of the machine that results depend on")]
    repro: Annotated[list[str], about("pytest's arguments that run the cell alone")]
    nodeid: Annotated[str, about("pytest's node id")]
    log: Annotated[str, about("the agent's log")] = ""


AnyRow = HeaderRow | PlanRow | DeclaredRow | CellRow
KINDS: dict[str, type[Row]] = {"header": HeaderRow, "plan": PlanRow, "declared": DeclaredRow, "cell": CellRow}
