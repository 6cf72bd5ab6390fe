"""Rows as the lines of flat tables, and those lines as rows again. Nothing is lost on the way.

A value stands in the column of its key when it is of the column's type; every other one stays in ``more``. A key that
rows of its kind usually have, and this one has not, is named in ``more`` too, so that null and absent stay apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bench_plugin.results.identity import cell_text
from bench_plugin.results.numbers import complete
from bench_plugin.results.tables.columns import (
    AXIS_COLUMNS,
    HEADER_COLUMNS,
    NUMBER_COLUMNS,
    PLAN_COLUMNS,
    ROW_COLUMNS,
    TIMED,
    WHERE,
    Column,
    Type,
)

Line = dict[str, Any]  # of a table: plain values by column; JSON as text
ALWAYS = tuple(column for column in WHERE if column.key)
# kind -> the columns with keys of the row itself
TOP: Mapping[str, tuple[Column, ...]] = {
    "header": (*ALWAYS, *HEADER_COLUMNS), "plan": (*ALWAYS, *PLAN_COLUMNS),
    "declared": (*ALWAYS, *ROW_COLUMNS), "cell": (*ALWAYS, *ROW_COLUMNS),
}  # fmt: skip
SINGLE: Mapping[str, Column] = {column.key: column for column in NUMBER_COLUMNS}
SOMETIMES = frozenset({"contributor", "licence", "totals", "shard", "planned"})  # keys that many rows do not have
USUAL: Mapping[str, frozenset[str]] = {
    kind: frozenset(column.key for column in columns) - SOMETIMES for kind, columns in TOP.items()
} | {"declared": frozenset({*(column.key for column in ALWAYS), "status", "reason"})}
ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
MOST = 2**63  # of a whole number in a table


def line_of(row: Mapping[str, Any], about: Mapping[str, Any], place: int) -> Line:
    """The line of a row in the table of its kind; ``about`` is its provenance and ``place`` its number, from 1."""
    kind = row["kind"]
    left, absent = dict(row), []
    line: Line = {"line": place, **dict.fromkeys(column.name for column in TOP[kind])}
    for column in TOP[kind]:
        if not _taken(left, column, line, usual=column.key in USUAL[kind]):
            absent.append(column.key)
    if kind in ("declared", "cell"):
        made = {**about, **figures(row), "cell": cell_text(row["cell"])}  # beside the row, which has all of it
        line.update({name: None if isinstance(one, str) and not _is_text(one) else one for name, one in made.items()})
        absent += _cell_taken(left, line) if kind == "cell" else []
        axes = dict(left.pop("cell"))
        for column in AXIS_COLUMNS:
            _taken(axes, column, line, usual=False)
        if axes:
            left["cell"] = axes
    more = {name: value for name, value in (("rest", left), ("absent", absent)) if value}
    line["more"] = to_json(more) if more else None
    return line


def row_of(line: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a line: the inverse of :func:`line_of`. Raises ValueError for JSON that is not valid."""
    kind = line["kind"]
    more = _loaded(line.get("more")) or {}
    absent, rest = frozenset(more.get("absent", ())), more.get("rest", {})
    row = {
        column.key: _value(column, line.get(column.name))
        for column in TOP[kind]
        if column.key not in absent
        and (line.get(column.name) is not None or (column.key in USUAL[kind] and column.name in line))
    }
    if kind in ("declared", "cell"):
        row["cell"] = {column.name: value for column in AXIS_COLUMNS if (value := line.get(column.name)) is not None}
        row["cell"] |= rest.pop("cell", {})
    if kind == "cell":
        _give_back(row, line, rest, absent)
    found: dict[str, Any] = row | rest
    return found


def figures(row: Mapping[str, Any]) -> Line:
    """What is made from several keys of a row: ``p50`` in seconds, ``instructions``, and ``place``."""
    timing = _table(_table(row.get("numbers")).get("timing"))
    if not timing:
        return {"p50": None, "instructions": None, "place": None}
    median = _number(_at(timing, ("percentiles", "p50")))
    if median is None:
        median = _number(_at(timing, ("compute", "median")))
    counted = _number(_at(timing, ("instructions", "median")))
    return {
        "p50": None if is_emulated(row) else median,
        "instructions": None if counted is None or abs(counted) >= MOST else int(counted),
        "place": place_of(row),
    }


def is_emulated(row: Mapping[str, Any]) -> bool:
    """Whether the cell ran on an emulated board."""
    return _table(row.get("placement")).get("timing") == "emulated"


def place_of(row: Mapping[str, Any]) -> str:
    """What a time was measured on, as far as that changes it: the board or the host, and the runtime's threads."""
    placement, settings = _table(row.get("placement")), _table(row.get("settings"))
    board = _table(placement.get("board"))
    where = board.get("machine_id") or board.get("name") or row.get("host") or ""
    threads = settings.get("threads") or ""
    return f"{where} threads={threads}" if threads else str(where)


def stage_lines(row: Mapping[str, Any]) -> Iterable[Line]:
    """The lines of the table ``stages`` of a row."""
    timings, peaks = _table(row.get("timings")), _table(row.get("peaks"))
    for stage in dict.fromkeys([*timings, *peaks]):
        peak = peaks.get(stage)
        yield of_cell(row) | {
            "stage": stage, "seconds": _number(timings.get(stage)), "peak_bytes": peak if _whole(peak) else None,
        }  # fmt: skip


def timing_lines(row: Mapping[str, Any]) -> Iterable[Line]:
    """The line of the table ``timings`` of a row that was timed."""
    timing = _table(_table(row.get("numbers")).get("timing"))
    if timing:
        own = {
            name: value if _fits(type, value := _at(timing, path)) else None
            for name, (path, type, _, _) in TIMED.items()
        }
        yield of_cell(row) | {"place": place_of(row), "emulated": is_emulated(row)} | own


def series_lines(row: Mapping[str, Any], columns: Sequence[Column]) -> Iterable[Line]:
    """The lines of the table ``series`` of a row."""
    for name, entry in _table(_table(row.get("numbers")).get("series")).items():
        said = {**_table(entry), "name": name}
        own = of_cell(row)
        yield own | {
            one.name: said.get(one.name) if _fits(one.type, said.get(one.name)) else None
            for one in columns if one.name not in own
        }  # fmt: skip


def of_cell(row: Mapping[str, Any]) -> Line:
    """The columns by which a line of a smaller table is joined with its cell."""
    key = row.get("key")
    return {"run": row["run"], "cell": cell_text(row["cell"]), "key": key if isinstance(key, str) else None}


def to_json(value: Any) -> str:
    """Data as JSON in ASCII, so that it can stand in any table. Raises ValueError for a number that is not finite."""
    return ENCODER.encode(value)


def _cell_taken(left: dict[str, Any], line: Line) -> list[str]:
    """Take what only computed cells have: the check, which the axes have too, and the numbers; returns absent keys."""
    absent = []
    if "check" not in left:
        absent.append("check")
    elif left["check"] == left["cell"].get("check") and isinstance(left["check"], str):
        del left["check"]
    if "numbers" not in left:
        return [*absent, "numbers"]
    if not isinstance(left["numbers"], Mapping):
        return absent
    numbers = dict(left.pop("numbers"))
    usual = _usual_numbers(left["cell"].get("check"))
    absent += [f"numbers.{name}" for name in usual if name not in numbers]
    nested = {}
    for name in list(numbers):
        if name in SINGLE:
            _taken(numbers, SINGLE[name], line, usual=name in usual)
        elif numbers[name] is not None:
            nested[name] = numbers.pop(name)
        elif name in usual:
            del numbers[name]
    line["numbers"] = to_json(nested) if nested else None
    if numbers:
        left["numbers"] = numbers
    return absent


def _give_back(row: dict[str, Any], line: Mapping[str, Any], rest: dict[str, Any], absent: frozenset[str]) -> None:
    """Put back what :func:`_cell_taken` took."""
    if "check" not in absent and "check" in row["cell"]:
        row["check"] = row["cell"]["check"]
    kept = rest.get("numbers", {})
    if "numbers" in absent or not isinstance(kept, Mapping):
        return
    rest.pop("numbers", None)
    usual = {name: None for name in _usual_numbers(row["cell"].get("check")) if f"numbers.{name}" not in absent}
    single = {one.key: value for one in NUMBER_COLUMNS if (value := line.get(one.name)) is not None}
    nested = _loaded(line.get("numbers")) or {}
    row["numbers"] = {**usual, **single, **nested, **kept}


def _usual_numbers(check: Any) -> Mapping[str, Any]:
    return complete(check, {}) if isinstance(check, str) else {}


def _taken(left: dict[str, Any], column: Column, line: Line, *, usual: bool) -> bool:
    """Move a value into its column where it fits; returns whether the key is there, or is not a usual one."""
    if column.key not in left:
        return not usual
    value = left[column.key]
    if value is None and not usual:
        return True  # it stays, because an empty column would say that the key is absent
    if value is None or _fits(column.type, value):
        del left[column.key]
        line[column.name] = to_json(value) if column.type is Type.JSON and value is not None else value
    return True


def _value(column: Column, value: Any) -> Any:
    return _loaded(value) if column.type is Type.JSON else value


def _loaded(text: str | None) -> Any:
    """The data in a text of JSON; None without a text. Raises ValueError."""
    return None if text is None else json.loads(text, parse_constant=_not_finite)


def _not_finite(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _fits(type: Type, value: Any) -> bool:
    return FITS[type](value)


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # half a character
        return False


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MOST <= value < MOST


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return _whole(value) and int(float(value)) == value


FITS: Mapping[Type, Callable[[Any], bool]] = {
    Type.TEXT: _is_text, Type.WHOLE: _whole, Type.NUMBER: _is_number,
    Type.BOOLEAN: lambda value: isinstance(value, bool), Type.JSON: lambda value: True,
}  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if _is_number(value) else None


def _at(data: Any, path: Iterable[str]) -> Any:
    for step in path:
        data = _table(data).get(step)
    return data


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
