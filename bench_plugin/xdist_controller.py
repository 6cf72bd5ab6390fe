"""The part of pytest-xdist's controller: usage errors of a run are found before its workers start, and said once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench_plugin import options
from bench_plugin.domain.errors import BenchError

USAGE_OUTPUT = "bench_usage_error"  # the key of a usage error that a worker reports to its controller


class Controller:
    """pytest-xdist's controller: it collects nothing, so usage errors are looked for before its workers start."""

    def __init__(self, config: pytest.Config, read: Callable[[], Any]) -> None:
        """``read`` reads options, configuration and every file that they name. It raises BenchError."""
        self._config = config
        self._read = read
        self._usage_error = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read what the run needs before a worker does. Raises pytest.UsageError."""
        if not options.concerns(self._config):
            return
        try:
            self._read()
        except BenchError as error:
            raise pytest.UsageError(f"bench: {error}") from error

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What only collection can find wrong (a marker's axes), a worker has found."""
        self._usage_error = self._usage_error or getattr(node, "workeroutput", {}).get(USAGE_OUTPUT, "")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End as a session without workers ends."""
        if self._usage_error:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the worker said."""
        if self._usage_error:
            terminalreporter.write_line(f"ERROR: {self._usage_error}", red=True)
