"""The state of one pytest session: settings, matrix, engine and rows."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from bench_plugin.agent.telemetry.machine import state
from bench_plugin.domain.axes import OPTIONS, TIMED
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.domain.paths import LOGS, check_writable, make_folder
from bench_plugin.domain.settings import Settings
from bench_plugin.domain.texts.masking import clean, readable
from bench_plugin.domain.thresholds import LEAST_SLOWDOWN, MOST_SLOWDOWN
from bench_plugin.matrix.matrix import Plan, plan_hash
from bench_plugin.matrix.planner import Declared
from bench_plugin.matrix.shard import division_hash
from bench_plugin.results.failure_text import failure_text
from bench_plugin.results.history import new_run_id
from bench_plugin.results.known_failures.expectations import Expectation, Judgement, Result, judge, known
from bench_plugin.results.opening import is_compressed
from bench_plugin.results.planned import packed
from bench_plugin.results.rows import cell_row, declared_row, header_row, plan_row
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.local import check_tolerances
from bench_plugin.session.engines.protocol import Begin, Engine
from bench_plugin.session.engines.registry import engine_module
from bench_plugin.session.repro_command import repro_arguments
from bench_plugin.session.run_rows import RunRows
from bench_plugin.session.unforeseen import unforeseen

LOOK_SECONDS = 0.2  # between two looks at a cell that is waited for


class Progress(Protocol):
    """Reports a cell that takes long."""

    def waiting(self) -> AbstractContextManager[object]:
        """The context in which one cell is waited for."""

    def say(self, cell: str, stage: str, seconds: float) -> None:
        """Take that ``cell`` is at ``stage``, after a wait of ``seconds`` seconds; called every LOOK_SECONDS."""


@dataclass(frozen=True)
class Judged:
    """A cell with its verdict: the outcome, pytest's result under the expectations, and the text for a person."""

    cell: Cell
    key: str
    outcome: Outcome
    judgement: Judgement
    text: str
    reused: bool = False


class Run:
    """The state of one session. The engine, and with it every process, starts when the cells are known.

    ``worker`` is the run id that pytest-xdist gives to its workers, each of which computes its own cells.
    """

    def __init__(self, settings: Settings, *, worker: str, command: Sequence[str], note: Callable[[str], None]) -> None:
        self.settings = settings
        self.worker = worker
        self.command = tuple(command)
        self.note = note
        self._basis = Basis.load(settings)
        self.workspace = self._basis.workspace
        for remark in self.workspace.notes:
            note(remark)
        self.expectations, self.matrix, self._keys = self._basis.expectations, self._basis.matrix, self._basis.keys
        self.rows = RunRows(settings, note)
        self.declared: dict[Cell, Declared] = {}
        self._planned: list[tuple[Check, Plan]] = []
        self.judged: list[Judged] = []
        self.started = False
        self.total = 0
        self._overrides: dict[Cell, Mapping[str, float]] = {}
        self._slowdowns: dict[Cell, float] = {}
        self._key_of: dict[Cell, str] = {}
        self._begin_engine: Begin | None = None
        self._process = os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the run's: it has not its threads, and the rows and agents are not its."""
        return os.getpid() != self._process

    @cached_property
    def engine(self) -> Engine:
        """The engine, made on first use, which must be in the main thread."""
        begin = self._begin_engine or engine_module(self.settings.engine).prepared(self._basis, self.note, ())
        return begin(self.settings)

    def plan(self, check: Check, narrowed: Mapping[str, Sequence[str]]) -> Plan:
        """The cells of one marked test; the pruned ones are kept for the results. Raises UsageError."""
        plan = self.matrix.plan(check, narrowed)
        self._planned.append((check, plan))
        self.declared.update({row.cell: row for row in plan.declared})
        return plan

    def limit_slowdown(self, cells: Sequence[Cell], most: object) -> None:
        """Take what a marker says of the time of its cells, a share. Raises UsageError for any other value."""
        if isinstance(most, bool) or not isinstance(most, int | float) or not LEAST_SLOWDOWN <= most <= MOST_SLOWDOWN:
            raise UsageError(
                f"marker bench: max_slowdown is {most!r}; a number from {LEAST_SLOWDOWN:g} to {MOST_SLOWDOWN:g} is "
                "wanted, such as 0.05 for 5 %"
            )
        self._slowdowns.update(dict.fromkeys(cells, float(most)))

    def begin(self, cells: Mapping[Cell, Mapping[str, float]], shards: Mapping[Cell, int]) -> None:
        """Write the header, the plan and the declared rows, and start to compute the selected cells.

        ``cells`` gives the tolerances of each cell's marker. ``shards`` gives the shard of every cell of the whole
        selection, of which ``cells`` are those of this run's shard; it is empty where there is none. Raises
        UsageError for a tolerance or a path that is not valid, for a toolchain of these cells without a valid lock,
        and for a cluster that cannot compute them.
        """
        if not cells:
            return
        self._make_folders()
        self._overrides.update({cell: overrides for cell, overrides in cells.items() if overrides})
        check_tolerances(self._overrides)
        reusable = self.rows.reusable
        ahead = [cell for cell in cells if self._key(cell) not in reusable]  # before a row: a lock may be missing
        self._begin_engine = engine_module(self.settings.engine).prepared(self._basis, self.note, ahead)
        self.rows.begin(self.worker or uuid.uuid4().hex, self._opening(list(cells), shards))
        self.settings = replace(self.settings, results=self.rows.path)
        self.engine.tolerances(self._overrides)
        self.engine.slowdowns(self._slowdowns)
        self.started, self.total = True, len(cells)
        if not self.worker:
            self.engine.plan(ahead)

    def join(self, opener: str) -> bool:
        """Whether workers of pytest-xdist, whose controller this is, have begun the rows of the run ``opener``."""
        joined = self.rows.join(opener)
        self.settings = replace(self.settings, results=self.rows.path)
        return joined

    def verdict(self, cell: Cell, *, nodeid: str, progress: Progress) -> Judged:
        """Compute the cell or wait for it, judge it by the expectations and append its row.

        Raises BenchError in a process that was forked from that of the run.
        """
        if self.forked:
            raise BenchError(
                f"{nodeid}: this process was forked from pytest's (by pytest-forked, or by os.fork in a test); cells "
                "are computed in pytest's own process only, so run tests of bench without --forked"
            )
        key = self._key(cell)
        reused = self.rows.reusable.get(key)
        if self.worker and reused is None:
            self.rows.begin_cell(self._row_if_killed(cell, nodeid))
        outcome = clean(reused or self._not_beside_others(cell) or self._wait(cell, progress))
        key = str(outcome.placement.get("worker", {}).get("key", key))  # made with what is on the worker's machine
        try:
            return self._recorded(cell, key, outcome, nodeid, reused=reused is not None)
        except Exception as error:
            return self._recorded(cell, key, clean(unforeseen(error, outcome.versions)), nodeid, reused=False)

    def _not_beside_others(self, cell: Cell) -> Outcome | None:
        """The outcome of a cell that takes times in a worker of pytest-xdist, which has no say over the others."""
        if not self.worker or cell.check not in TIMED:
            return None
        reason = "needs -n0: a timing holds the machine, and other workers of pytest-xdist compute meanwhile"
        versions = self._keys.versions(cell)
        return Outcome(
            Status.UNVERIFIED, reason=reason, versions=versions, reusable=False, unverified=Unverified.NOT_RUN
        )

    def _recorded(self, cell: Cell, key: str, outcome: Outcome, nodeid: str, *, reused: bool) -> Judged:
        """Judge an outcome by the expectations, and append its row unless the row is ``reused``."""
        expectation = self.expectations.match(cell.axes(), outcome)
        judgement = judge(outcome, expectation)
        silent = judgement.result is Result.PASSED
        text = "" if silent else readable(failure_text(cell, outcome, key=key, remark=judgement.reason))
        judged = Judged(cell, key, outcome, judgement, text, reused=reused)
        if not reused:
            self._append(judged, expectation, nodeid)
        self.judged.append(judged)
        return judged

    def close(self) -> None:
        """End every process of the run, and give its rows free; in a fork of it nothing is done."""
        if self.forked:
            return
        if "engine" in self.__dict__:
            self.engine.close()
        if not self.worker:
            self.rows.keep()
        self.rows.close()

    def without_cell(self) -> dict[str, str]:
        """The models that were named and have no cell in any test, each with the reasons."""
        have = {cell.model for _, plan in self._planned for cell in plan.cells}
        found: dict[str, dict[str, None]] = {}
        for check, plan in self._planned:
            decided = {row.cell.model: f"{row.status}: {row.reason}" for row in reversed(plan.declared)}
            for model, why in {**decided, **plan.without}.items():
                if model in self.matrix.selection.models and model not in have:
                    found.setdefault(model, {})[f"{check}: {why}"] = None
        return {model: "; ".join(reasons) for model, reasons in found.items()}

    def lost_boards(self) -> bool:
        """Whether a cell has no result because its board was lost, in this process or in a worker of pytest-xdist."""
        if self.judged:
            return any(one.outcome.status is Status.BOARD_LOST for one in self.judged)
        try:
            return any(row.get("status") == Status.BOARD_LOST for row in self.rows.read().rows)
        except UsageError:  # no row was written; that has been said
            return False

    def _make_folders(self) -> None:
        """Make the folders of rows and stages. Raises UsageError for a path that cannot be made."""
        results, cache = self.settings.results, self.settings.cache
        if results.is_dir():
            raise UsageError(f"--bench-results: {results} is a folder; name a file in it")
        if is_compressed(results):
            raise UsageError(
                f"--bench-results: a run appends rows to {results.name}, which a compressed file does not allow; "
                f"name it {results.stem}, and compress it with gzip after the run"
            )
        for folder in (results.parent, results.parent / LOGS):
            make_folder(folder, "--bench-results")
            check_writable(folder, "--bench-results")
        if cache is not None:
            make_folder(cache, "--bench-cache")

    def _key(self, cell: Cell) -> str:
        if cell not in self._key_of:
            self._key_of[cell] = self._keys.key(cell, self._overrides.get(cell, {}), self._basis.known_failures(cell))
        return self._key_of[cell]

    def _wait(self, cell: Cell, progress: Progress) -> Outcome:
        future = self.engine.future(cell)
        began = time.monotonic()
        with progress.waiting():
            while not _finished(future, LOOK_SECONDS):
                progress.say(cell.id, self.engine.progress(cell), time.monotonic() - began)
        return future.result()

    def _opening(self, cells: Sequence[Cell], shards: Mapping[Cell, int]) -> list[dict[str, Any]]:
        seeds = {"weights": self.settings.seed, "inputs": self.settings.seed}
        versions = {name: dict(lock) for name, lock in self.workspace.locked_versions().items()}
        header = header_row(
            run=new_run_id(),
            root=self.settings.root,
            state=state(),
            command=self.command,
            versions=versions,
            seeds=seeds,
            titles=self.workspace.titles(),
            host=self.workspace.fingerprints.host,
            licence=self.settings.licence,
            contributor=self.settings.contributor,
        )
        totals = Counter(cell.check for cell in self.matrix.profile_cells(_checks_of(shards or cells)))
        plan = plan_row(
            count=len(cells), hash=plan_hash(cells), selection=self._selection(), total=totals.total(),
            totals={str(check): count for check, count in totals.items()}, **self._shard(shards),
        )  # fmt: skip
        declared = [
            declared_row(row.cell.axes(), status=row.status, reason=row.reason) for row in self.declared.values()
        ]
        return [header, plan, *declared]

    def _shard(self, shards: Mapping[Cell, int]) -> dict[str, Any]:
        """What the plan row says of the shard, and of the whole plan; nothing where there is no shard."""
        if self.settings.shard is None or not shards:
            return {}
        own = {
            "index": self.settings.shard.index, "count": self.settings.shard.count, "cells": len(shards),
            "whole": plan_hash(list(shards)), "division": division_hash(shards),
        }  # fmt: skip
        return {"shard": own, "planned": packed([(cell.axes(), shards[cell]) for cell in sorted(shards)])}

    def _selection(self) -> dict[str, Any]:
        selection = self.settings.selection
        asked = {axis.plural: list(getattr(selection, axis.plural)) for axis in OPTIONS}
        chosen = {plural: values for plural, values in asked.items() if values}
        for key in ("onnx_files", "onnx_inputs"):
            chosen[key] = [str(path) for path in getattr(selection, key)]
        return {"profile": selection.profile, **chosen}

    def _append(self, judged: Judged, expectation: Expectation | None, nodeid: str) -> None:
        expected = known(expectation, judged.judgement)
        self.rows.append(self._row(judged.cell, judged.outcome, judged.judgement.result, expected, nodeid, judged.key))

    def _row_if_killed(self, cell: Cell, nodeid: str) -> dict[str, Any]:
        """The row of a cell whose worker ends before there is a verdict; at which stage, nobody will know."""
        reason = "the worker of pytest-xdist that computed this cell was killed or crashed"
        outcome = Outcome(
            Status.ERROR, Stage.BUILD, Symptom.HARNESS, reason, versions=self._keys.versions(cell), reusable=False
        )
        return self._row(cell, outcome, Result.FAILED, None, nodeid, self._key(cell))

    def _row(
        self, cell: Cell, outcome: Outcome, result: Result, expected: Mapping[str, Any] | None, nodeid: str, key: str
    ) -> dict[str, Any]:
        host = outcome.placement.get("worker", {}).get("host") or self.workspace.fingerprints.host["digest"]
        return cell_row(
            cell.axes(), outcome, key=key, nodeid=nodeid, expected=expected, result=str(result),
            repro=repro_arguments(cell, nodeid, self.settings),
            settings={**self.settings.of_cells(), **self._limit_of(cell)}, host=host,
        )  # fmt: skip

    def _limit_of(self, cell: Cell) -> dict[str, float]:
        """What the marker of a cell's test says of its time, for comparisons of the row."""
        return {"max_slowdown": self._slowdowns[cell]} if cell in self._slowdowns else {}


def _checks_of(cells: Iterable[Cell]) -> list[Check]:
    return list(dict.fromkeys(cell.check for cell in cells))


def _finished(future: Future[Outcome], seconds: float) -> bool:
    try:
        future.result(timeout=seconds)
    except TimeoutError:
        return future.done()
    except Exception:  # the caller asks for the result again and raises the error with its own traceback
        return True
    return True


def command_line(started: Sequence[str] = ()) -> list[str]:
    """The command that ``started`` pytest, that of this process if none is given, for the header row."""
    program, *arguments = started or sys.argv
    name = Path(program).name
    return ["pytest" if name == "__main__.py" else name, *arguments]  # python -m pytest
