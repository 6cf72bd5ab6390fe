"""Several processes and one index: a bounded wait, and a message that names the process in the way."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.results.index.queries import runs
from bench_plugin.results.index.store import IndexInUse, opened
from tests.results.index.conftest import History
from tests.results.nights import axes, passed

HOLDER = """
import sys
from pathlib import Path
from bench_plugin.results.index.store import opened
with opened(Path(sys.argv[1]), write=sys.argv[2] == "write") as index:
    if sys.argv[2] == "write":
        index.execute("BEGIN; DELETE FROM results; DELETE FROM runs")
    print("open", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held(path: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the index open."""
    command = [sys.executable, "-c", HOLDER, str(path), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def made(history: History) -> History:
    history.add(1, passed(axes()))
    history.update()
    return history


def test_while_one_process_writes_no_other_can_read_and_the_message_names_it(made: History) -> None:
    with held(made.index, "write") as process:
        began = time.monotonic()
        with (
            pytest.raises(
                IndexInUse, match=rf"process {process.pid} \(python.*\) has the index open, also after 0.3 s"
            ),
            opened(made.index, wait=0.3),
        ):
            raise AssertionError("opened")
        assert time.monotonic() - began < 30


def test_while_one_process_reads_others_read_and_none_writes(made: History) -> None:
    with held(made.index, "read"):
        with opened(made.index) as index:
            assert len(runs(index)) == 1
        with pytest.raises(IndexInUse, match="while one reads it none can write"):
            made.update(rebuild=True, wait=0.2)


def test_a_process_in_the_way_is_waited_for(made: History) -> None:
    with held(made.index, "write") as process:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
        with opened(made.index, wait=60) as index:
            assert len(runs(index)) == 1


def test_what_a_killed_process_had_not_finished_is_not_in_the_index(made: History) -> None:
    with held(made.index, "write") as process:
        process.kill()
        process.wait()
    with opened(made.index, wait=60) as index:
        assert len(runs(index)) == 1


def test_a_question_makes_no_index(history: History) -> None:
    missing = "index.duckdb: there is no index yet; bench history index makes it"
    with pytest.raises(UsageError, match=missing), opened(history.index):
        raise AssertionError("opened")
    assert not history.index.exists()
