"""Toolchains are made beside the first cells, once one of them has to be made; what is not finished leaves nothing."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.environments.needed import NeededToolchains
from tests.reach.environments.conftest import Workshop
from tests.reach.processes.conftest import until


def test_the_first_that_has_to_be_made_starts_the_others(workshop: Workshop) -> None:
    for name in ("first", "second", "third"):
        workshop.toolchain(name)
    notes: list[str] = []
    toolchains = workshop.open()
    needed = NeededToolchains(toolchains, notes.append)
    needed.expect(["first", "second", "first", "third"])
    assert not workshop.made(), "nothing is made before it is asked for"
    assert needed.python("first").exists()
    assert until(lambda: toolchains.ready("second") and toolchains.ready("third"), 30.0)
    needed.close()
    assert sum("making" in note for note in notes) == 3
    assert not [note for note in notes if "waiting for another run" in note]


def test_with_what_is_there_nothing_is_made(workshop: Workshop) -> None:
    workshop.toolchain("first")
    workshop.toolchain("second")
    workshop.open().ensure("first")
    needed = NeededToolchains(workshop.open(), lambda note: None)
    needed.expect(["first", "second"])
    needed.python("first")
    needed.close()
    assert [name.partition("-")[0] for name in workshop.made()] == ["first"]


def test_one_that_cannot_be_made_says_so_to_whoever_needs_it(workshop: Workshop) -> None:
    workshop.toolchain("first")
    workshop.toolchain("second", extra='tools = ["no-such-tool"]')
    needed = NeededToolchains(workshop.open(), lambda note: None)
    needed.expect(["second", "first"])
    assert needed.python("first").exists()
    with pytest.raises(EnvironmentMissing, match="second needs no-such-tool"):
        needed.python("second")
    needed.close()


def test_closing_ends_what_is_being_made_and_leaves_nothing(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.toolchain("first")
    workshop.toolchain("second")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a registry that takes questions and never answers
        monkeypatch.setenv("UV_FIND_LINKS", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        needed = NeededToolchains(workshop.open(), lambda note: None)
        needed.expect(["first", "second"])
        failures: list[EnvironmentMissing] = []

        def ask() -> None:
            try:
                needed.python("first")
            except EnvironmentMissing as error:
                failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        assert until(lambda: len(workshop.made()) == 2, 30.0)
        began = time.monotonic()
        needed.close()
        asking.join(10.0)
        assert time.monotonic() - began < 5.0
    assert failures
    assert not workshop.made()
