"""Waiting for a toolchain that another run makes: it says for whom, ends with the run, and has a limit."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.environments.toolchains import Toolchains

from .conftest import Workshop

HOLD = """
import sys, threading, time
from pathlib import Path
from bench_plugin.reach.environments.maker_lock import maker_lock
with maker_lock(Path(sys.argv[1]), "it", print, cancelled=threading.Event(), patience=1):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(workshop: Workshop) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of the toolchain gadgets and does nothing, as a stopped one does."""
    workshop.toolchain()
    folder = workshop.open().folder("gadgets")
    folder.parent.mkdir(parents=True)
    place = folder.parent / f".{folder.name}.lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_it_says_for_whom_and_ends_with_the_run(workshop: Workshop, holder: subprocess.Popen[str]) -> None:
    toolchains = workshop.open()
    said: list[str] = []
    waits = threading.Event()
    errors: list[str] = []

    def progress(text: str) -> None:
        said.append(text)
        waits.set()

    def ensure() -> None:
        try:
            toolchains.ensure("gadgets", progress=progress)
        except EnvironmentMissing as error:
            errors.append(str(error))

    threads = [threading.Thread(target=ensure) for _ in range(2)]  # a cell's, and one that makes toolchains ahead
    for thread in threads:
        thread.start()
    assert waits.wait(30)
    began = time.monotonic()
    toolchains.cancel()
    for thread in threads:
        thread.join(10)
    assert time.monotonic() - began < 2
    assert said[0].startswith(f"waiting for another run that makes toolchain gadgets: process {holder.pid} (")
    assert errors == ["toolchain gadgets is not made: the run is ending"] * 2


def test_a_process_that_does_not_go_on_is_not_waited_for_for_ever(
    workshop: Workshop, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(EnvironmentMissing, match=rf"process {holder.pid} \(.*\) has been at it for more than 0.5 s"):
        Toolchains([workshop.files], patience=0.5).ensure("gadgets")


def test_who_ends_is_followed(workshop: Workshop, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    said: list[str] = []
    assert workshop.open().ensure("gadgets", progress=said.append).exists()
    assert not any("waiting" in text for text in said[1:])
