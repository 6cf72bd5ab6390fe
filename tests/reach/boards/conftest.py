"""Listeners for the tests of boards; nothing of them may be left after a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.reach.boards.listening import Listening, listen


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    """An agent that listens with the usual bounds."""
    found = listen(tmp_path)
    yield found
    assert found.process.poll() is None, "the listener ended by itself"
    found.stop()


@pytest.fixture
def listening_with(tmp_path: Path) -> Iterator[Callable[..., Listening]]:
    """Starts an agent that listens with the options given."""
    started: list[Listening] = []

    def start(*options: str, **more: object) -> Listening:
        started.append(listen(tmp_path, *options, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for found in started:
        found.stop()
