"""The plans of merged shards: which cells they planned, which shards are missing, and whether they are of one plan."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.report.statuses import NOT_RUN
from bench_plugin.results.planned import unpacked
from bench_plugin.results.rows import SCHEMA, Row


@dataclass
class _Division:
    """One way to divide a plan into shards: which cell is in which shard, and the shards whose results are there.

    ``whole`` is the hash of the plan, ``run`` the newest run of it, ``files`` are those that name it.
    """

    whole: str
    count: int
    planned: Mapping[str, Any] = field(default_factory=dict)
    cells: Mapping[str, tuple[Mapping[str, Any], int]] = field(default_factory=dict)
    present: set[int] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    run: str = ""

    @property
    def missing(self) -> list[int]:
        """The shards that have cells and no results, in their order."""
        return sorted({shard for _, shard in self.cells.values()} - self.present)


class Plans:
    """The plan rows of all files. The cells of a divided plan are kept once, however many shards name them."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._divisions: dict[str, _Division] = {}

    def add(self, row: Mapping[str, Any], file: str) -> None:
        """Take a plan row. Raises UsageError for the plan of a shard that cannot be read."""
        plain = {key: value for key, value in row.items() if key != "planned"}
        self._rows[json.dumps(plain, sort_keys=True)] = plain
        if not row.get("shard"):
            return
        try:
            shard = row["shard"]
            one = self._divisions.setdefault(shard["division"], _Division(shard["whole"], shard["count"]))
            one.present.add(shard["index"])
            one.files.add(file)
            one.run = max(one.run, str(row.get("run", "")))
            if "planned" in row and not one.planned:
                one.planned = row["planned"]
                one.cells = {_text(axes): (axes, number) for axes, number in unpacked(row["planned"])}
        except (KeyError, IndexError, TypeError) as error:
            raise UsageError(f"{file}: the plan of a shard is not complete ({error!r}); merge another copy") from error

    def check(self) -> None:
        """Raises UsageError where two plans have cells in common and are not the same plan."""
        divisions = sorted(self._divisions.values(), key=lambda one: (one.whole, sorted(one.files)))
        for number, one in enumerate(divisions):
            for other in divisions[number + 1 :]:
                common = len(one.cells.keys() & other.cells.keys())
                if one.whole != other.whole and common:
                    raise UsageError(
                        f"{_said(one)} and {_said(other)} have {common} cells in common and are not the same plan: the "
                        "project, its suites or the selection changed between these shards. Run all shards again from "
                        "one commit, or give --mixed to merge them nevertheless"
                    )

    def rows(self) -> Iterator[Row]:
        """The plan rows; the cells of a divided plan are in the first row that names them, in the order of runs."""
        named: set[str] = set()
        for _, row in sorted(self._rows.items(), key=lambda pair: (str(pair[1].get("run", "")), pair[0])):
            division = str((row.get("shard") or {}).get("division", ""))
            if division and division not in named and (planned := self._divisions[division].planned):
                named.add(division)
                yield {**row, "planned": planned}
            else:
                yield row

    def not_run(self, have: Container[str]) -> Iterator[tuple[str, Row]]:
        """The planned cells that are not among those that ``have`` a row, each with the row that says so."""
        for _, one in sorted(self._divisions.items()):
            missing = one.missing
            for cell, (axes, shard) in one.cells.items():
                if cell in have:
                    continue
                reason = (
                    f"shard {shard}/{one.count} is missing" if shard in missing
                    else f"shard {shard}/{one.count} ended before this cell"
                )  # fmt: skip
                yield cell, {
                    "schema": SCHEMA, "kind": "declared", "run": one.run, "cell": dict(axes), "status": NOT_RUN,
                    "reason": reason,
                }  # fmt: skip

    def notes(self, not_run: int) -> list[str]:
        """Sentences on shards that are missing, on cells without a row, and on shards that were divided differently."""
        found = []
        for _, one in sorted(self._divisions.items()):
            if one.missing:
                shards = ", ".join(f"{number}/{one.count}" for number in one.missing)
                found.append(f"missing of the plan {one.whole}: shard {shards}")
        if not_run:
            found.append(f"{not_run} planned cells have no result and are shown as {NOT_RUN!r}")
        wholes = [one.whole for one in self._divisions.values()]
        found += [
            f"the shards of the plan {whole} were divided in {wholes.count(whole)} ways: with other numbers of shards, "
            "or other --bench-shard-durations; cells may have been computed twice, or by none"
            for whole in sorted(set(wholes)) if wholes.count(whole) > 1
        ]  # fmt: skip
        return found


def _said(one: _Division) -> str:
    return f"{', '.join(sorted(one.files))} (plan {one.whole} of {len(one.cells)} cells)"


def _text(axes: Mapping[str, Any]) -> str:
    return json.dumps(axes, sort_keys=True)
