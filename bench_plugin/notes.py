"""Notes on the terminal while a run goes on, such as a toolchain that is being made: the main thread writes them.

pytest captures what a test prints by redirecting the file descriptors. A line that another thread writes meanwhile may
become a part of what was captured, and be lost with it; so notes of other threads wait for the main thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from bench_plugin.domain.texts.masking import masked


class Notes:
    """Called with a text, it writes ``bench: <text>`` on a line of its own; safe to call from any thread.

    ``before`` is called before something is written, to take away what stands in the way.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._waiting: deque[str] = deque()
        self.before: Callable[[], None] | None = None

    def __call__(self, text: str) -> None:
        self._waiting.append(f"bench: {masked(text)}")
        if threading.current_thread() is threading.main_thread():
            self.flush()

    def flush(self) -> None:
        """Write what waits, in its order; only for the main thread."""
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        if not self._waiting or reporter is None or capture is None:
            return
        if self.before is not None:
            self.before()
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            while self._waiting:
                reporter.write_line(self._waiting.popleft())
