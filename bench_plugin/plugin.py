"""pytest hooks, options, markers, fixtures: thin, no domain logic."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pytest

from bench_plugin import options
from bench_plugin.fixtures.benchmark_clock import note_benchmarks
from bench_plugin.fixtures.cell import JUDGED, BenchCell, bench_cell, bench_outcome
from bench_plugin.fixtures.marked_cells import MARKERS, cell_of, planned, tolerances, without_cell
from bench_plugin.fixtures.performance import begin_call, deployed, device_benchmark, lacks_model, timing
from bench_plugin.fixtures.properties import note_run
from bench_plugin.fixtures.run_state import RUN, notes_of, run_of
from bench_plugin.fixtures.sharding import empty_shard, keep_shard
from bench_plugin.fixtures.verdict_report import KNOWN, report_verdict
from bench_plugin.fixtures.worker_groups import note_choice, write_groups
from bench_plugin.plain_imports import PlainImports

if TYPE_CHECKING:
    from bench_plugin.domain.cell import Cell

# pytest finds the fixtures of a plugin among the names of its module.
__all__ = ["BenchCell", "bench_cell", "bench_outcome", "deployed", "device_benchmark", "timing"]

REFUSED = pytest.StashKey[list[str]]()
WRONG = pytest.StashKey[list[str]]()
EMPTY = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> Iterator[None]:
    result = yield
    early_config.stash[REFUSED] = options.add_short_axes(parser)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int | pytest.ExitCode | None, object]:
    if config.pluginmanager.has_plugin("xdist"):
        note_choice(config)  # around all others: pytest-xdist reads its options in this hook, too
    return (yield)


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
    if getattr(config.option, "htmlpath", None):  # the option of pytest-html
        from bench_plugin.fixtures.html_report import HtmlReport

        config.pluginmanager.register(HtmlReport(config), "bench-html")


def pytest_report_header(config: pytest.Config) -> list[str]:
    refused = config.stash.get(REFUSED, [])
    line = options.configuration_line(config)
    said = [f"bench: {line}"] if line else []
    return said + [f"bench: --{axis} belongs to another plugin, use --bench-{axis}" for axis in refused]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("bench")
    if marker is None or "bench_cell" not in metafunc.fixturenames:
        return
    from bench_plugin.domain.errors import BenchError

    cells: Sequence[Cell] = ()
    try:
        plan = planned(metafunc, marker)
        cells = plan.cells
        if not cells:
            metafunc.config.stash.setdefault(EMPTY, {})[metafunc.definition.nodeid] = plan.why_empty
    except (
        BenchError,
        OSError,
    ) as error:  # one usage error ends the session after collection, instead of one error per test
        metafunc.config.stash.setdefault(WRONG, []).append(str(error))
    metafunc.parametrize("bench_cell", cells, ids=[cell.id for cell in cells], indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test without a cell in this selection has no item: pytest would make one that holds no parameter."""
    note_benchmarks(config, items)
    empty = config.stash.get(EMPTY, {})
    if empty and not config.stash.get(WRONG, []):
        items[:] = [item for item in items if not without_cell(item)]
        if items:
            for nodeid, why in empty.items():
                notes_of(config)(f"{nodeid}: no cell in this selection: {why}")
        else:
            config.stash.setdefault(WRONG, []).append(_nothing_selected(empty))
    if RUN in config.stash and not config.stash.get(WRONG, []):
        for model, why in config.stash[RUN].without_cell().items():
            notes_of(config)(f"model {model} has no cell: {why}")
    if config.stash.get(WRONG, []) and hasattr(config, "workerinput"):
        items.clear()  # a worker reports the error to its controller, and has nothing to run


def _nothing_selected(empty: dict[str, str]) -> str:
    reasons = "; ".join(f"{nodeid}: {why}" for nodeid, why in empty.items())
    return f"no cell matches this selection ({reasons})"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.stash.get(WRONG, []):
        _usage_error(session, session.config.stash[WRONG][0])
        return
    from bench_plugin.domain.errors import BenchError

    cells = {}
    try:
        shards = keep_shard(session)
        if session.config.option.collectonly or RUN not in session.config.stash:
            return
        for item in session.items:
            if (cell := cell_of(item)) is not None:
                cells[cell] = tolerances(item)
        write_groups(session)
        run_of(session.config).begin(cells, shards)
    except (BenchError, OSError) as error:
        _usage_error(session, str(error))


def _usage_error(session: pytest.Session, text: str) -> None:
    """End the session with a usage error; a worker of pytest-xdist leaves the saying to its controller."""
    from bench_plugin.domain.texts.masking import masked

    text = f"bench: {masked(text)}"
    if not hasattr(session.config, "workerinput"):
        raise pytest.UsageError(text)
    from bench_plugin.xdist_controller import USAGE_OUTPUT

    session.config.workeroutput[USAGE_OUTPUT] = text  # type: ignore[attr-defined]
    session.items.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test whose compiled model was not deployed is not called: its report is that of the cell."""
    return None if begin_call(pyfuncitem) else True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    judged = item.stash.get(JUDGED, None)
    if judged is None:
        return report
    ended_well = call.when == "call" and call.excinfo is None
    if ended_well or (call.excinfo is not None and lacks_model(call.excinfo.value)):
        report_verdict(report, item, judged)
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
    if _ran(session.config):
        note_run(session.config)
    try:
        return (yield)
    finally:
        if _ran(session.config):
            from bench_plugin.terminal import finish

            run = run_of(session.config)
            notes_of(session.config).flush()
            finish(run, session.config)
            notes_of(session.config).flush()
            if session.exitstatus == pytest.ExitCode.OK and (run.rows.unwritten or run.lost_boards()):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and empty_shard(session.config):
            session.exitstatus = pytest.ExitCode.OK


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
