"""pytest hooks, options, markers, fixtures: thin, no domain logic."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pytest
from _pytest._code.code import TerminalRepr  # the type of texts in reports, which pytest exports nowhere else
from _pytest._io import TerminalWriter

from bench_plugin import options
from bench_plugin.domain.axes import MARKER_AXES, Check
from bench_plugin.plain_imports import PlainImports

if TYPE_CHECKING:
    from bench_plugin.domain.cell import Cell
    from bench_plugin.domain.outcome import Outcome
    from bench_plugin.matrix.matrix import Plan
    from bench_plugin.notes import Notes
    from bench_plugin.session.session import Judged, Run
    from bench_plugin.terminal import Progress

RUN = pytest.StashKey["Run"]()
PROGRESS = pytest.StashKey["Progress"]()
NOTES = pytest.StashKey["Notes"]()
JUDGED = pytest.StashKey["Judged"]()
REFUSED = pytest.StashKey[list[str]]()
WRONG = pytest.StashKey[list[str]]()
EMPTY = pytest.StashKey[dict[str, str]]()
KNOWN = "bench_known"  # the attribute of a report that says: a known failure, with its key

MARKERS = (
    f"bench(check, {', '.join(f'{axis}=None' for axis in MARKER_AXES)}): run this test once per cell of the check (one "
    f"of {', '.join(Check)}), narrowed to the given axes, each a name or a list",
    "tolerance(k=None, floor=None, cap=None): other tolerances for the cells of this test, each by its name "
    "(docs/numbers.md)",
)


class BenchCell:
    """The cell of a marked test. ``verify()`` computes it; pytest's verdict is then taken from the outcome."""

    def __init__(self, request: pytest.FixtureRequest, cell: Cell) -> None:
        self.cell = cell
        self._item = request.node
        self._config = request.config
        self._lock = Lock()

    def verify(self) -> Outcome:
        """Run the cell through its stages and record the verdict; returns the outcome, whatever it is.

        Further calls return the same outcome, also from several threads of a test.
        """
        with self._lock:
            if JUDGED not in self._item.stash:
                run = run_of(self._config)
                nodeid = _nodeid(self._item, run.settings.root)
                self._item.stash[JUDGED] = run.verdict(self.cell, nodeid=nodeid, progress=_progress(self._config))
            judged: Judged = self._item.stash[JUDGED]
        return judged.outcome


def _nodeid(item: pytest.Item, root: Path) -> str:
    """The node id of a test relative to the project's folder ``root``, from where its cell is repeated.

    A test of the package's own suites has the same one wherever the package is installed.
    """
    from bench_plugin.domain.paths import suite_name

    name = suite_name(item.path)
    if name and not (root / name).exists():
        return "::".join((name, *item.nodeid.split("::")[1:]))
    if root == item.config.rootpath or not item.path.is_relative_to(root):
        return item.nodeid
    _, separator, test = item.nodeid.partition("::")
    return f"{item.path.relative_to(root).as_posix()}{separator}{test}"


@dataclass(frozen=True)
class _Crash:
    """What pytest's short summary looks for."""

    message: str


class CellRepr(TerminalRepr):
    """A failed cell as pytest prints it: the text in full, one line of it in the short summary."""

    def __init__(self, text: str, short: str) -> None:
        self._text = text
        self.reprcrash = _Crash(short)

    def __str__(self) -> str:
        return self._text

    def toterminal(self, terminal: TerminalWriter) -> None:
        """The text as it is."""
        terminal.line(self._text)


@pytest.fixture
def bench_cell(request: pytest.FixtureRequest) -> BenchCell:
    """The cell that this test was parametrised with; only for tests marked ``bench(check=...)``."""
    from bench_plugin.domain.cell import Cell

    cell = getattr(request, "param", None)
    if not isinstance(cell, Cell):
        pytest.fail(
            "fixture bench_cell needs a test marked @pytest.mark.bench(check='export') or another check",
            pytrace=False,
        )
    for axis, value in cell.axes().items():
        request.node.user_properties.append((f"bench_{axis}", value))
    return BenchCell(request, cell)


@pytest.fixture
def bench_outcome(bench_cell: BenchCell) -> Outcome:
    """The outcome of this test's cell: status, stage, symptom, numbers, timings, versions."""
    return bench_cell.verify()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> Iterator[None]:
    result = yield
    early_config.stash[REFUSED] = options.add_short_axes(parser)
    return result


def pytest_configure(config: pytest.Config) -> None:
    if config.option.pyargs:
        from bench_plugin.domain.paths import suite_argument

        config.args[:] = [suite_argument(argument) for argument in config.args]
    imports = PlainImports()
    imports.install()
    config.add_cleanup(imports.remove)
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput"):
        from bench_plugin.xdist_controller import Controller

        config.pluginmanager.register(Controller(config, partial(run_of, config)), "bench-controller")


def pytest_report_header(config: pytest.Config) -> list[str]:
    refused = config.stash.get(REFUSED, [])
    line = options.configuration_line(config)
    said = [f"bench: {line}"] if line else []
    return said + [f"bench: --{axis} belongs to another plugin, use --bench-{axis}" for axis in refused]


def run_of(config: pytest.Config) -> Run:
    """The session's state, made on first use. Raises BenchError for a wrong option or file."""
    if RUN not in config.stash:
        from bench_plugin.domain.errors import require_linux

        require_linux()
        from bench_plugin.session.session import Run, command_line

        settings = options.read_settings(config)
        worker = getattr(config, "workerinput", {}).get("testrunuid", "")
        config.stash[RUN] = Run(settings, worker=worker, command=command_line(), note=_notes(config))
    return config.stash[RUN]


def _progress(config: pytest.Config) -> Progress:
    """What says how far the run is; made when the first cell is waited for."""
    if PROGRESS not in config.stash:
        from bench_plugin.terminal import Progress

        config.stash[PROGRESS] = Progress(config, run_of(config), _notes(config))
    return config.stash[PROGRESS]


def _notes(config: pytest.Config) -> Notes:
    """What writes notes on the terminal; made on first use."""
    if NOTES not in config.stash:
        from bench_plugin.notes import Notes

        config.stash[NOTES] = Notes(config)
    return config.stash[NOTES]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("bench")
    if marker is None or "bench_cell" not in metafunc.fixturenames:
        return
    from bench_plugin.domain.errors import BenchError

    cells: Sequence[Cell] = ()
    try:
        plan = _plan(metafunc, marker)
        cells = plan.cells
        if not cells:
            metafunc.config.stash.setdefault(EMPTY, {})[metafunc.definition.nodeid] = plan.why_empty
    except (
        BenchError,
        OSError,
    ) as error:  # one usage error ends the session after collection, instead of one error per test
        metafunc.config.stash.setdefault(WRONG, []).append(str(error))
    metafunc.parametrize("bench_cell", cells, ids=[cell.id for cell in cells], indirect=True)


def _plan(metafunc: pytest.Metafunc, marker: pytest.Mark) -> Plan:
    from bench_plugin.domain.errors import UsageError

    axes = dict(marker.kwargs)
    given = [*marker.args, *([axes.pop("check")] if "check" in axes else [])]
    if len(given) > 1:
        shown = ", ".join(repr(one) for one in given)
        raise UsageError(f"{metafunc.definition.nodeid}: marker bench: one check is wanted, found {shown}")
    name = given[0] if given else None
    run = run_of(metafunc.config)
    if name not in run.matrix.checks:
        valid = ", ".join(run.matrix.checks)
        raise UsageError(f"{metafunc.definition.nodeid}: marker bench: check is {name!r}; one of {valid}")
    return run.plan(Check(name), axes)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test without a cell in this selection has no item: pytest would make one that holds no parameter."""
    empty = config.stash.get(EMPTY, {})
    if empty and not config.stash.get(WRONG, []):
        items[:] = [item for item in items if not _without_cell(item)]
        if items:
            for nodeid, why in empty.items():
                _notes(config)(f"{nodeid}: no cell in this selection: {why}")
        else:
            config.stash.setdefault(WRONG, []).append(_nothing_selected(empty))
    if RUN in config.stash and not config.stash.get(WRONG, []):
        for model, why in config.stash[RUN].without_cell().items():
            _notes(config)(f"model {model} has no cell: {why}")
    if config.stash.get(WRONG, []) and hasattr(config, "workerinput"):
        items.clear()  # a worker reports the error to its controller, and has nothing to run


def _cell_of(item: pytest.Item) -> Cell | None:
    """The cell that our marker gave to a test; None for any other test, also one with a ``bench_cell`` of its own."""
    from bench_plugin.domain.cell import Cell

    callspec = getattr(item, "callspec", None)
    found = callspec.params.get("bench_cell") if callspec is not None else None
    return found if isinstance(found, Cell) else None


def _without_cell(item: pytest.Item) -> bool:
    """Whether a test of ours has an item although there is no cell for it: pytest makes one without a parameter."""
    given = getattr(item, "callspec", None) is not None and "bench_cell" in item.callspec.params  # type: ignore[attr-defined]
    return given and item.get_closest_marker("bench") is not None and _cell_of(item) is None


def _nothing_selected(empty: dict[str, str]) -> str:
    reasons = "; ".join(f"{nodeid}: {why}" for nodeid, why in empty.items())
    return f"no cell matches this selection ({reasons})"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.stash.get(WRONG, []):
        _usage_error(session, session.config.stash[WRONG][0])
        return
    if session.config.option.collectonly or RUN not in session.config.stash:
        return
    from bench_plugin.domain.errors import BenchError

    cells = {}
    try:
        for item in session.items:
            if (cell := _cell_of(item)) is not None:
                cells[cell] = _tolerances(item)
        run_of(session.config).begin(cells)
    except (BenchError, OSError) as error:
        _usage_error(session, str(error))


def _tolerances(item: pytest.Item) -> dict[str, float]:
    """What the marker ``tolerance`` of a test gives, by name. Raises UsageError for a value without a name."""
    from bench_plugin.domain.errors import UsageError

    marker = item.get_closest_marker("tolerance")
    if marker is not None and marker.args:
        value = marker.args[0]
        raise UsageError(
            f"{item.nodeid}: marker tolerance: {value!r} has no name; write k={value}, floor={value} or cap={value}"
        )
    return dict(marker.kwargs) if marker else {}


def _usage_error(session: pytest.Session, text: str) -> None:
    """End the session with a usage error; a worker of pytest-xdist leaves the saying to its controller."""
    from bench_plugin.domain.masking import masked

    text = f"bench: {masked(text)}"
    if not hasattr(session.config, "workerinput"):
        raise pytest.UsageError(text)
    from bench_plugin.xdist_controller import USAGE_OUTPUT

    session.config.workeroutput[USAGE_OUTPUT] = text  # type: ignore[attr-defined]
    session.items.clear()


def _short(judged: Judged) -> str:
    from bench_plugin.results.failure_text import headline

    lines = (judged.judgement.reason or judged.outcome.reason).strip().splitlines()
    return f"{headline(judged.outcome)}: {lines[0] if lines else ''}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    judged = item.stash.get(JUDGED, None)
    if call.when != "call" or judged is None or call.excinfo is not None:
        return report
    from bench_plugin.results.expectations import Result

    result = judged.judgement.result
    if result is Result.FAILED:
        report.outcome, report.longrepr = "failed", CellRepr(judged.text, _short(judged))
    elif result is Result.XFAILED:
        report.outcome, report.wasxfail = "skipped", f"{judged.judgement.reason} (cell {judged.key})"
        report.longrepr = judged.text
        report.__dict__[KNOWN] = judged.key  # pytest-xdist sends it to its controller
    elif result is Result.SKIPPED:
        path, line, _ = item.location
        report.outcome, report.longrepr = (
            "skipped",
            (path, (line or 0) + 1, f"{judged.outcome.status}: {judged.outcome.reason}"),
        )
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    """pytest's short summary is written inside of this: it counts known failures and does not list them."""
    if not _ran(config):
        return (yield)
    from bench_plugin.terminal import known_failures_not_listed

    with known_failures_not_listed(config, terminalreporter, KNOWN):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """After everything that pytest and other plugins write: the grids. A run that lost rows or a board is not green."""
    _hand_over_rows(session.config)
    try:
        return (yield)
    finally:
        if _ran(session.config):
            from bench_plugin.terminal import finish

            run = run_of(session.config)
            _notes(session.config).flush()
            finish(run, session.config)
            _notes(session.config).flush()
            if session.exitstatus == pytest.ExitCode.OK and (run.rows.unwritten or run.lost_boards()):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _hand_over_rows(config: pytest.Config) -> None:
    """What a worker of pytest-xdist could not write goes to its controller."""
    if hasattr(config, "workerinput") and RUN in config.stash:
        import json

        from bench_plugin.xdist_controller import ROWS_OUTPUT

        rows = config.stash[RUN].rows
        rows.flush()
        config.workeroutput[ROWS_OUTPUT] = [json.dumps(row) for row in rows.unwritten]  # type: ignore[attr-defined]


def _ran(config: pytest.Config) -> bool:
    """Whether this process reports on cells: it computed some, or its workers did."""
    if hasattr(config, "workerinput") or (RUN in config.stash and config.stash[RUN].forked):
        return False
    return (RUN in config.stash and config.stash[RUN].started) or _workers_ran(config)


def _workers_ran(config: pytest.Config) -> bool:
    """Whether this is pytest-xdist's controller, and its workers computed cells."""
    session = config.pluginmanager.get_plugin("dsession")
    if session is None:
        return False
    from bench_plugin.domain.errors import on_linux

    if not on_linux():
        return False
    from bench_plugin.results.writer import file_of

    run = str(session.nodemanager.testrunuid)
    return file_of(options.read_settings(config).results, run) is not None and run_of(config).join(run)


def pytest_unconfigure(config: pytest.Config) -> None:
    if RUN in config.stash:
        config.stash[RUN].close()
