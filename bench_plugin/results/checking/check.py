"""What is wrong with rows that somebody contributes: each finding names the line, the key, and what would be right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench_plugin.domain.records import explained, key_text
from bench_plugin.domain.texts.choices import hint, nearest
from bench_plugin.results.checking.lines import LONGEST, NotARow, NumberedLine, decoded, numbered_lines
from bench_plugin.results.checking.row_types import KINDS
from bench_plugin.results.rows import SCHEMA, Row, of_run
from bench_plugin.results.tables.files import read_parquet


@dataclass(frozen=True)
class Finding:
    """``line`` counts from 1, and is 0 for the whole file; ``key`` is empty for the whole row."""

    line: int
    key: str
    message: str

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line else "the file"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


@dataclass
class Checked:
    """What a file has: its rows by kind, and what is wrong with them, of which only the first are kept."""

    rows: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    wrong: int = 0

    def add(self, finding: Finding, most: int) -> None:
        """Count a finding, and keep it if there are not ``most`` already."""
        self.wrong += 1
        if len(self.findings) < most:
            self.findings.append(finding)

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"rows": self.rows, "wrong": self.wrong, "findings": [asdict(one) for one in self.findings]}


def check(source: Path, *, most: int = 20, longest: int = LONGEST, as_read: bool = False) -> Checked:
    """Check a results file, or a folder of Parquet tables, against the schema of rows. At most ``longest`` bytes of a
    line are read into memory. Raises UsageError for what cannot be read.

    With ``as_read`` the rows are checked as commands read them: lines that are no JSON, which a killed run leaves
    behind, are passed over, and a row without the id of its run is of the header above it, as of older versions.
    """
    found = Checked()
    headers: set[str] = set()
    run = ""
    for number, read in _numbered(source, found, most, longest, as_read=as_read):
        kind = read.get("kind")
        run = str(read.get("run") or "") if kind == "header" else run
        row = of_run(read, run) if as_read and not read.get("run") else read
        if isinstance(kind, str):
            found.rows[kind] = found.rows.get(kind, 0) + 1
        for key, message in _wrong(row, headers):
            found.add(Finding(number, key, message), most)
        if kind == "header" and isinstance(row.get("run"), str):
            headers.add(row["run"])
    if not found.rows and not found.wrong:
        found.add(Finding(0, "", "there is no row in it"), most)
    return found


def _numbered(
    source: Path, found: Checked, most: int, longest: int, *, as_read: bool
) -> Iterator[tuple[int, Row]]:  # fmt: skip
    if source.is_dir() or source.suffix == ".parquet":
        yield from enumerate(read_parquet(source if source.is_dir() else source.parent), 1)
        return
    for line in numbered_lines(source, longest):
        try:
            yield line.number, decoded(line, longest)
        except NotARow as error:
            if as_read and not _is_json(line):
                continue
            found.add(Finding(line.number, "", str(error)), most)


def _is_json(line: NumberedLine) -> bool:
    """Whether the reader of results takes a line, which has another opinion of NaN than JSON has."""
    if line.data is None:
        return True
    try:
        json.loads(line.data)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def _wrong(row: Row, headers: set[str]) -> Iterator[tuple[str, str]]:
    """(key, message) of everything that is wrong with a row by its type, or else by what its keys say together."""
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        yield "kind", f"{kind!r} is not valid; {hint(kind, KINDS)}" if "kind" in row else _missing("kind", row, KINDS)
        return
    if row.get("schema") != SCHEMA:
        yield "schema", f"{row.get('schema')!r}, and this version reads {SCHEMA}; contribute rows of that version"
        return
    try:
        msgspec.convert(row, KINDS[kind])
    except msgspec.ValidationError as error:
        place, message = explained(row, KINDS[kind], str(error))
        if message == "missing":
            message = _missing(str(place[-1]), _table_at(row, place[:-1]), _names(kind))
        yield key_text(place), message
        return
    if kind != "header" and row["run"] not in headers:
        yield "run", f"{row['run']!r} is the run of no header above; the header says where rows come from, and is first"
    if kind == "cell":
        yield from _inconsistent(row)


def _inconsistent(row: Row) -> Iterator[tuple[str, str]]:
    if row["check"] != row["cell"]["check"]:
        yield "check", f"{row['check']!r}, where the cell has {row['cell']['check']!r}; both are the check of the cell"
    if (row["status"] == "unverified") != (row["unverified"] is not None):
        yield (
            "unverified",
            (
                f"{row['unverified']!r} with status {row['status']!r}; exactly the status unverified has a kind, and "
                "every other status has null"
            ),
        )


def _missing(key: str, table: Any, valid: Any) -> str:
    unknown = [name for name in table if name not in valid] if isinstance(table, dict) else []
    alike = nearest(key, unknown)
    if not alike:
        return "missing; every such row has it"
    return f"missing; the row has {alike[0]!r}, which must be called {key!r}"


def _table_at(row: Any, place: Any) -> Any:
    for step in place:
        row = row[step]
    return row


def _names(kind: str) -> set[str]:
    return {one.encode_name for one in msgspec.structs.fields(KINDS[kind])} | {"kind"}
