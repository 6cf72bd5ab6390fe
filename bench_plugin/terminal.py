"""What the terminal shows: progress while cells are computed, and the grids as the last thing of a run."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.outcome import Status
from bench_plugin.notes import Notes
from bench_plugin.pipeline.retry import CARRIED
from bench_plugin.report.earlier import beside
from bench_plugin.report.entries import header_of
from bench_plugin.report.formats.terminal import lines
from bench_plugin.report.pages.page import Page
from bench_plugin.report.pages.registry import build_pages, drop_stale
from bench_plugin.report.summary import known_failures, totals_table, unverified_kinds
from bench_plugin.session.session import Run

PLAIN_SECONDS = 10.0  # between two lines of a log
LIVE_SECONDS = 0.5  # between two pictures of the line of progress


class Progress:
    """Says what a cell that takes long is at: in a log a line every ten seconds, in a terminal one line in place.

    The line in a terminal is drawn below pytest's own while a cell is waited for, and is gone before pytest goes on.
    """

    def __init__(self, config: pytest.Config, run: Run, notes: Notes) -> None:
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._capture: Any = config.pluginmanager.get_plugin("capturemanager")
        self._run = run
        self._began = time.monotonic()
        self._live = self._reporter is not None and _in_place(self._reporter, os.environ)
        self._drawn = False
        self._column = 0
        self._every = LIVE_SECONDS if self._live else PLAIN_SECONDS
        self._said = 0.0
        self._notes = notes
        notes.before = self.clear

    @contextmanager
    def waiting(self) -> Iterator[Progress]:
        """Around the wait for one cell; at its end notes of other threads are written."""
        self._said = 0.0
        try:
            yield self
        finally:
            self.clear()
            self._notes.flush()

    def say(self, cell: str, stage: str, seconds: float) -> None:
        """The cell that is waited for, the stage that it is at, and for how many seconds it has been waited for.

        It is called often, and writes when it is time; notes of other threads are written at once.
        """
        self._notes.flush()
        if self._reporter is None or self._capture is None or seconds - self._said < self._every:
            return
        self._said = seconds
        text = f"{cell}: {stage}, {seconds:.0f} s"
        with self._capture.global_and_fixture_disabled():
            if self._live:
                self._draw(f"{progress_text(len(self._run.judged), self._run.total, self._elapsed)}  {text}")
            else:
                self._reporter.ensure_newline()
                self._reporter.write_line(f"  ... {text}")

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _draw(self, text: str) -> None:
        writer = self._reporter._tw
        if not self._drawn:
            self._column = writer.width_of_current_line % writer.fullwidth
            writer._file.write("\n")
            self._drawn = True
        writer._file.write(f"\r\x1b[2K{text[: writer.fullwidth - 1]}")
        writer._file.flush()

    def clear(self) -> None:
        """Take the line away: back to where pytest's own line ended."""
        if not self._drawn:
            return
        self._drawn = False
        with self._capture.global_and_fixture_disabled():
            right = f"\x1b[{self._column}C" if self._column else ""
            self._reporter._tw._file.write(f"\r\x1b[2K\x1b[1A\r{right}")
            self._reporter._tw._file.flush()


def progress_text(done: int, total: int, elapsed: float) -> str:
    """Cells done, how many there are, and how long the rest will take if it goes on like this."""
    left = f", about {_duration(elapsed / done * (total - done))} left" if done else ""
    return f"bench: {done} of {total} cells{left}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _in_place(reporter: Any, environment: Any) -> bool:
    """Whether a line can be drawn over: a terminal, that is not the log of a CI runner."""
    if environment.get("CI") or environment.get("BUILD_NUMBER") or environment.get("TERM") == "dumb":
        return False
    return bool(reporter.isatty)


@contextmanager
def known_failures_not_listed(config: pytest.Config, terminal: pytest.TerminalReporter, known: str) -> Iterator[None]:
    """Known failures are many, and known: the short summary leaves them out unless ``-r`` names x itself.

    ``known`` is the attribute of their reports.
    """
    listed = "x" in config.option.reportchars
    reports = terminal.stats.get("xfailed", [])
    if listed or not any(hasattr(report, known) for report in reports):
        yield
        return
    terminal.stats["xfailed"] = [report for report in reports if not hasattr(report, known)]
    try:
        yield
    finally:
        terminal.stats["xfailed"] = reports


def finish(run: Run, config: pytest.Config) -> None:
    """Write the pages of the run's rows, and draw the grids unless ``--no-summary`` was given.

    Nothing is raised: the rows are written and the tests have their verdicts, so that the run ends as they say.
    """
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:
        return
    try:
        _show(run, config, terminal)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        terminal.write_line(
            f"bench: the grids and pages cannot be made: {type(error).__name__}: {error} ({where}); this is a fault of "
            f"bench_plugin, the rows are in {run.rows.path}", red=True,
        )  # fmt: skip


def _show(run: Run, config: pytest.Config, terminal: Any) -> None:
    try:
        rows = run.rows.read()
        run.rows.keep()
        pages = build_pages(rows.rows, rows.notes, beside(run.rows.path))
    except BenchError as error:
        terminal.write_line(f"bench: {error}", red=True)
        return
    folder = run.settings.results.parent
    run_id = str(header_of(rows.rows).get("run", ""))
    paths = _written(terminal, pages, folder, run_id)
    removed, left = _dropped(terminal, pages, folder, run_id)
    if terminal.no_summary:
        return
    _draw_grids(terminal, pages)
    _write_counts(terminal, run, pages)
    for line in repeats_lines(rows.rows):
        terminal.write_line(line)
    if lost := sum(row.get("status") == Status.BOARD_LOST for row in rows.rows):
        terminal.write_line(f"board-lost: {lost} cells have no result, so the run is not green", red=True)
    start = config.invocation_params.dir
    for written in paths:
        suffixes = ",".join(path.suffix[1:] for path in written)
        terminal.write_line(f"page: {_shown(written[0].with_suffix(''), start)}.{{{suffixes}}}")
    if removed:
        terminal.write_line(f"pages of earlier runs removed: {', '.join(removed)} (bench grid RUN makes them again)")
    if left:
        terminal.write_line(
            f"pages that are not of this run: {', '.join(_shown(folder / name, start) for name in left)}"
        )
    terminal.write_line(f"rows: {_shown(run.rows.path, start)}")
    if run.rows.unwritten:
        lost = f"{len(run.rows.unwritten)} rows could not be written to {_shown(run.rows.path, start)}"
        terminal.write_line(f"bench: {lost}: {run.rows.trouble}; they are only in the grids above", red=True)


def _written(terminal: Any, pages: Sequence[Page], folder: Path, run: str) -> list[list[Path]]:
    """Write the pages; of one that cannot be written, say so: its rows are there."""
    paths = []
    for page in pages:
        try:
            paths.append(page.write(folder))
        except OSError as error:
            terminal.write_line(
                f"bench: page {page.name} cannot be written: {error.filename or folder}: {error.strerror}; the rows "
                f"are there: bench grid {run} --output FOLDER", red=True,
            )  # fmt: skip
    return paths


def _dropped(terminal: Any, pages: Sequence[Page], folder: Path, run: str) -> tuple[list[str], list[str]]:
    """Remove pages of other runs, as :func:`drop_stale` does; what cannot be removed is said."""
    try:
        return drop_stale(folder, pages, run)
    except OSError as error:
        terminal.write_line(
            f"bench: a page of an earlier run cannot be removed: {error.filename}: {error.strerror}", red=True
        )
        return [], []


def _draw_grids(terminal: Any, pages: Sequence[Page]) -> None:
    for heading, table in [*(grid for page in pages for grid in page.grids), ("cells", totals_table(pages))]:
        terminal.write_sep("=", heading)
        for line in lines(table, terminal._tw.fullwidth):
            for place, (text, colour) in enumerate(line):
                shown = text.rstrip() if place == len(line) - 1 else text
                terminal.write(shown, **({colour: True} if colour else {}))
            terminal.write_line("")


def _write_counts(terminal: Any, run: Run, pages: Sequence[Page]) -> None:
    for remark in dict.fromkeys(remark for page in pages for remark in page.remarks if remark):
        terminal.write_line(remark)
    entries = [entry for page in pages for entry in page.entries]
    computed = [entry for entry in entries if entry.key]
    reused = sum(judged.reused for judged in run.judged)
    terminal.write_line(
        f"{len(computed)} cells, {len(entries) - len(computed)} declared before the run, "
        f"{sum(entry.cached for entry in computed)} with cached stages, {reused} rows reused"
    )
    if known := known_failures(pages):
        terminal.write_line(f"known failures: {known} (-rx lists them)")
    if unverified := unverified_kinds(pages):
        terminal.write_line(unverified)


def repeats_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many cells depended on what their process had done before, and how many mismatches were repeated."""
    cells = [row for row in rows if row["kind"] == "cell"]
    carried = sum(CARRIED in row["flags"] for row in cells)
    repeated = sum(bool(row["retry"].get("mismatch")) for row in cells)
    counts = {
        f"{CARRIED} in {carried} cells: what fresh processes gave counts": carried,
        f"mismatches of used processes, repeated in fresh ones: {repeated}": repeated,
    }
    return [line for line, count in counts.items() if count]


def _shown(path: Path, start: Path) -> str:
    """A path as a person at ``start`` would type it."""
    return os.path.relpath(path, start)
