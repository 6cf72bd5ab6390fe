"""The lock of a machine: cells beside each other, a timing alone, and nobody goes before one who waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bench_plugin.session.engines.remote.node import machine

SECONDS = 10.0  # at most, for what must happen
MOMENT = 0.2  # in which what must not happen would have


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))


def begun(*, alone: bool) -> tuple[threading.Event, Callable[[], None]]:
    """Compute in a thread: an event for when it has the machine, and what ends it."""
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with machine(alone=alone):
            entered.set()
            leave.wait(SECONDS)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def end() -> None:
        leave.set()
        thread.join(SECONDS)

    return entered, end


def test_cells_compute_beside_each_other_and_a_timing_waits_for_them_and_holds_back_others() -> None:
    first, end_first = begun(alone=False)
    second, end_second = begun(alone=False)
    assert first.wait(SECONDS) and second.wait(SECONDS)
    timing, end_timing = begun(alone=True)
    assert not timing.wait(MOMENT)
    later, end_later = begun(alone=False)
    assert not later.wait(MOMENT), "the timing came first"
    end_first()
    assert not timing.is_set()
    end_second()
    assert timing.wait(SECONDS) and not later.wait(MOMENT)
    end_timing()
    assert later.wait(SECONDS)
    end_later()
