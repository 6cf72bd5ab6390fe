"""The state of one pytest session, made once: settings, matrix, engine, rows."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench_plugin.checks.registry import planners
from bench_plugin.domain.cell import Cell, Check
from bench_plugin.domain.outcome import Outcome
from bench_plugin.domain.settings import Settings
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.matrix.matrix import Matrix, Plan, plan_hash
from bench_plugin.matrix.planner import Declared
from bench_plugin.results.expectations import Expectation, Expectations, Judgement, Result, judge
from bench_plugin.results.failure_text import failure_text
from bench_plugin.results.rows import (
    ResultsWriter,
    cell_row,
    declared_row,
    header_row,
    outcome_of,
    plan_row,
    read_rows,
)
from bench_plugin.session.engine import Engine

PROGRESS_SECONDS = 10.0


@dataclass(frozen=True)
class Judged:
    """A cell that has its verdict: the outcome, what the expectations make of it, and the texts for a person."""

    cell: Cell
    key: str
    outcome: Outcome
    judgement: Judgement
    text: str
    reused: bool = False


class Run:
    """One session's state. The engine, and with it every process, starts when the cells are known.

    ``worker`` is the id that pytest-xdist gives a run, in its workers; each of them computes the cells that it is
    given.
    """

    def __init__(self, settings: Settings, *, worker: str, command: Sequence[str], note: Callable[[str], None]) -> None:
        self.settings = settings
        self.worker = worker
        self.command = tuple(command)
        self.note = note
        self.workspace = Workspace.load(settings)
        self.expectations = Expectations.load(self.workspace.expectation_folders)
        self.matrix = Matrix(
            self.workspace.models, self.workspace.catalog, list(self.workspace.targets), settings.selection,
            planners(self.workspace),
        )  # fmt: skip
        self.declared: dict[Cell, Declared] = {}
        self.judged: list[Judged] = []
        self.started = False
        self._overrides: dict[Cell, Mapping[str, float]] = {}

    @cached_property
    def engine(self) -> Engine:
        """Agents, cache and pipeline; made in the main thread, on first use."""
        return Engine(self.settings, self.workspace, self.note)

    @cached_property
    def writer(self) -> ResultsWriter:
        """Where rows go; an existing file is kept as the previous one, unless it is resumed."""
        return ResultsWriter(self.settings.results, resume=self.settings.resume)

    @cached_property
    def stored(self) -> dict[str, dict[str, Any]]:
        """Rows that ``--bench-resume`` may reuse, by key."""
        if not self.settings.resume or not self.settings.results.is_file():
            return {}
        rows = read_rows(self.settings.results)
        for remark in rows.notes:
            self.note(f"resume: {remark}")
        return {row["key"]: row for row in rows.rows if row["kind"] == "cell"}

    def plan(self, check: Check, narrowed: Mapping[str, Sequence[str]]) -> Plan:
        """The cells of one marked test; what was pruned is remembered for the results."""
        plan = self.matrix.plan(check, narrowed)
        self.declared.update({row.cell: row for row in plan.declared})
        return plan

    def begin(self, cells: Mapping[Cell, Mapping[str, float]]) -> None:
        """All selected cells are known: write header, plan and declared rows, and start working ahead."""
        if not cells:
            return
        self._overrides.update({cell: overrides for cell, overrides in cells.items() if overrides})
        self.engine.tolerances(self._overrides)
        self.started = True
        self.writer.begin(self.worker or uuid.uuid4().hex, self._opening(list(cells)))
        ahead = [cell for cell in cells if self._key(cell) not in self.stored]
        if not self.worker:
            self.engine.plan(ahead)

    def verdict(self, cell: Cell, *, nodeid: str, waiting: Callable[[str], None]) -> Judged:
        """Compute the cell, or wait for it; judge it and append its row."""
        key = self._key(cell)
        row = self.stored.get(key)
        outcome = outcome_of(row) if row else self._wait(cell, waiting)
        signature = outcome.numbers.get("signature")
        expectation = self.expectations.match(cell.axes(), outcome.versions, signature)
        judgement = judge(outcome, expectation)
        silent = judgement.result is Result.PASSED
        text = "" if silent else failure_text(cell, outcome, key=key, remark=judgement.reason)
        judged = Judged(cell, key, outcome, judgement, text, reused=row is not None)
        self.judged.append(judged)
        if row is None:
            self._append(judged, expectation, nodeid)
        return judged

    def close(self) -> None:
        """End every process of the run."""
        if "engine" in self.__dict__:
            self.engine.close()

    def _key(self, cell: Cell) -> str:
        return self.workspace.key(cell, self.settings.seed, self._overrides.get(cell, {}))

    def _wait(self, cell: Cell, waiting: Callable[[str], None]) -> Outcome:
        future = self.engine.future(cell)
        began = time.monotonic()
        while not _finished(future, PROGRESS_SECONDS):
            waiting(f"{cell.id}: {self.engine.progress(cell)}, {time.monotonic() - began:.0f} s")
        return future.result()

    def _opening(self, cells: Sequence[Cell]) -> list[dict[str, Any]]:
        seeds = {"weights": self.settings.seed, "inputs": self.settings.seed}
        versions = {name: dict(lock) for name, lock in self.workspace.locked_versions().items()}
        header = header_row(
            root=self.settings.root,
            command=self.command,
            versions=versions,
            seeds=seeds,
            titles=self.workspace.titles(),
        )
        total = len(self.matrix.profile_cells(list(dict.fromkeys(cell.check for cell in cells))))
        plan = plan_row(count=len(cells), hash=plan_hash(cells), selection=self._selection(), total=total)
        declared = [
            declared_row(row.cell.axes(), status=row.status, reason=row.reason) for row in self.declared.values()
        ]
        return [header, plan, *declared]

    def _selection(self) -> dict[str, Any]:
        selection = self.settings.selection
        axes = ("frameworks", "compilers", "targets", "precisions", "models", "exporters", "importers", "opsets")
        chosen = {axis: list(getattr(selection, axis)) for axis in axes if getattr(selection, axis)}
        return {"profile": selection.profile, **chosen, "onnx_files": [str(path) for path in selection.onnx_files]}

    def _append(self, judged: Judged, expectation: Expectation | None, nodeid: str) -> None:
        expected = {"reason": expectation.reason, "link": expectation.link} if expectation else None
        self.writer.append(
            cell_row(
                judged.cell.axes(), judged.outcome, key=judged.key, nodeid=nodeid, expected=expected,
                repro=repro_arguments(judged.cell, nodeid, self.settings),
            )
        )  # fmt: skip


def repro_arguments(cell: Cell, nodeid: str, settings: Settings) -> list[str]:
    """pytest's arguments that run this cell alone, whatever the profile was."""
    file_option = [f"--bench-model={path}" for path in settings.selection.onnx_files if Path(path).stem == cell.model]
    if cell.check in (Check.PROPERTY, Check.OPERATOR):
        return [nodeid, f"--bench-cases={cell.model}", f"--bench-compilers={cell.compiler}"]
    named = [] if file_option else [f"--bench-models={cell.model}", f"--bench-frameworks={cell.framework}"]
    axes = [
        ("exporters", cell.exporter), ("opsets", cell.opset), ("importers", cell.importer),
        ("compilers", cell.compiler), ("precisions", cell.precision if cell.precision != "fp32" else ""),
        ("targets", cell.target if cell.target != "local" else ""),
    ]  # fmt: skip
    chosen = [f"--bench-{axis}={value}" for axis, value in axes if value]
    return [nodeid, *named, *file_option, *chosen, *_further(cell, settings)]


def _further(cell: Cell, settings: Settings) -> list[str]:
    """Options that are no axes, where they are not the usual ones."""
    found = [f"--bench-seed={settings.seed}"] if settings.seed else []
    if cell.compiler:
        for compiler, chosen in settings.options.items():
            found += [f"--bench-option={compiler}.{name}={value}" for name, value in chosen.items()]
        found += [f"--bench-calibration={settings.calibration}"] if settings.calibration != "minmax" else []
    return found


def _finished(future: Future[Outcome], seconds: float) -> bool:
    try:
        future.result(timeout=seconds)
    except TimeoutError:
        return future.done()
    except Exception:  # the caller asks for the result again and gets the error with its own traceback
        return True
    return True


def command_line() -> list[str]:
    """The command that started this process, for the header."""
    name = Path(sys.argv[0]).name
    return ["pytest" if name == "__main__.py" else name, *sys.argv[1:]]  # python -m pytest
