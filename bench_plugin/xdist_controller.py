"""The part of pytest-xdist's controller: usage errors, the rows of killed workers, and rows that were not written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench_plugin import options
from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.texts.masking import masked
from bench_plugin.fixtures.sharding import SHARD_OUTPUT, shard_begins
from bench_plugin.fixtures.worker_groups import BY_GROUPS, GROUPS_INPUT, scheduler

USAGE_OUTPUT = "bench_usage_error"  # the key of a usage error that a worker reports to its controller
ROWS_OUTPUT = "bench_rows"  # the key of the rows that a worker could not write


class Controller:
    """pytest-xdist's controller: it collects nothing, so usage errors are looked for before its workers start."""

    def __init__(self, config: pytest.Config, read: Callable[[], Any]) -> None:
        """``read`` reads options, configuration and every file that they name. It raises BenchError."""
        self._config = config
        self._read = read
        self._usage_error = ""
        self._shard: Sequence[Any] = ()
        self._groups: Path | None = None
        if config.stash.get(BY_GROUPS, False):
            folder = tempfile.mkdtemp(prefix="bench-groups-")
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
            self._groups = Path(folder) / "groups.json"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read what the run needs before a worker does. Raises pytest.UsageError."""
        if not options.concerns(self._config):
            return
        try:
            self._read()
        except (BenchError, OSError) as error:
            raise pytest.UsageError(f"bench: {masked(str(error))}") from error

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Ask a worker for the groups of its tests, where tests go to workers by groups."""
        if self._groups is not None:
            node.workerinput[GROUPS_INPUT] = str(self._groups)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Distribute tests by groups, unless the user, or a conftest.py, has chosen another way."""
        return scheduler(config, log, self._groups) if self._groups is not None else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What only collection can find, a worker has found: a marker's axes that are wrong, and what a shard has."""
        said = getattr(node, "workeroutput", {})
        self._usage_error = self._usage_error or said.get(USAGE_OUTPUT, "")
        self._shard = self._shard or said.get(SHARD_OUTPUT, [])
        if unwritten := said.get(ROWS_OUTPUT):
            self._read().rows.add_unwritten(unwritten)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """A worker was killed while it ran ``crashitem``: its cell gets a row all the same."""
        run = self._read()
        session: Any = self._config.pluginmanager.get_plugin("dsession")
        if run.join(str(session.nodemanager.testrunuid)):
            run.rows.add_begun(crashitem)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End as a session without workers ends."""
        if self._usage_error:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the worker said."""
        if self._shard:
            shard_begins(self._config, *self._shard)
        if self._usage_error:
            terminalreporter.write_line(f"ERROR: {self._usage_error}", red=True)
