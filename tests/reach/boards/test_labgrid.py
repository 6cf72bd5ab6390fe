"""Boards that labgrid lends: its coordinator and exporter on the loopback, in an environment of their own."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.registry import reach_of
from bench_plugin.reach.environments.uv import run_uv
from bench_plugin.reach.processes.leased_agent import AgentFailure, Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.boards.sshd import Sshd, sshd
from tests.reach.processes.conftest import FAKE, LIMITS, until

__all__ = ["sshd"]


class Labgrid:
    """A coordinator with one place, ``pi-place``, whose tag is ``board=pi``; it is at the address of the server."""

    def __init__(self, programs: Path, server: Sshd) -> None:
        self.programs = programs
        self.server = server
        with closing(socket.create_server(("127.0.0.1", 0))) as one:
            self.coordinator = f"127.0.0.1:{one.getsockname()[1]}"
        resources = server.folder / "exporter.yaml"
        resources.write_text(
            f"bench:\n  NetworkService:\n    address: 127.0.0.1\n    port: {server.port}\n    username: "
            f"{getpass.getuser()}\n"
        )
        self._resources = resources
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start its programs and describe its place."""
        self._running.append(self._start("labgrid-coordinator", "-l", self.coordinator))
        assert until(lambda: self.client("places").returncode == 0, 30.0), "the coordinator did not start"
        self._running.append(self._start("labgrid-exporter", "-c", self.coordinator, "-n", "lab", str(self._resources)))
        assert until(lambda: "NetworkService" in self.client("resources").stdout, 30.0), "the exporter did not start"
        for words in (["create"], ["add-match", "lab/bench/*"], ["set-tags", "board=pi"]):
            assert self.client("-p", "pi-place", *words).returncode == 0

    def client(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run labgrid's client."""
        command = [str(self.programs / "labgrid-client"), "-x", self.coordinator, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=self._environment())

    def pool(self, **changes: object) -> AgentPool:
        """A pool with the board ``pi``, which labgrid lends."""
        ssh = self.server.board().settings
        settings = {
            "coordinator": self.coordinator, "client": str(self.programs / "labgrid-client"), "tags": {"board": "pi"},
            "key": ssh["key"], "python": ssh["python"], "ship": False, "options": ssh["options"], **changes,
        }  # fmt: skip
        stand_in = {"same_machine": True} if "same_machine" in Board.__dataclass_fields__ else {}
        return AgentPool(
            lambda name: Path(sys.executable), self.server.folder / "logs",
            lambda name: [Source(name, FAKE.read_bytes())], self.server.folder / "scratch",
            boards={"pi": reach_of(Board("pi", "aarch64", "labgrid", settings, **stand_in))},  # type: ignore[arg-type]
        )  # fmt: skip

    def stop(self) -> None:
        """End its programs."""
        for process in self._running:
            process.kill()
            process.wait()

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with self.server.folder.joinpath(f"{name}.log").open("wb") as log:
            command = [str(self.programs / name), *arguments]
            return subprocess.Popen(
                command, cwd=self.server.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self._environment(),
            )  # fmt: skip

    @staticmethod
    def _environment() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith("LG_")}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of labgrid, in an environment without this plugin."""
    folder = tmp_path_factory.mktemp("labgrid")
    try:
        made = folder / "environment"
        run_uv(["venv", "--quiet", "--no-project", "--python", sys.executable, str(made)], folder=folder)
        run_uv(["pip", "install", "--quiet", "--python", str(made / "bin" / "python"), "labgrid>=24.0"], folder=folder)
    except EnvironmentMissing as error:
        pytest.skip(f"labgrid cannot be installed: {error}")
    return made / "bin"


@pytest.fixture
def labgrid(programs: Path, sshd: Sshd) -> Iterator[Labgrid]:
    """A laboratory of the test's own."""
    made = Labgrid(programs, sshd)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_a_place_is_locked_for_the_run_and_given_back(labgrid: Labgrid) -> None:
    pool = labgrid.pool()
    try:
        with pool.lease("fake", board="pi") as agent:
            assert agent.call("fake", "go", {"given": 5}, limits=LIMITS).meta["given"] == {"given": 5}
            assert "pi-place" in labgrid.client("who").stdout
    finally:
        pool.close()
    assert "pi-place" not in labgrid.client("who").stdout
    assert "Reservation" not in labgrid.client("reservations").stdout


@pytest.mark.nightly
def test_a_place_that_somebody_else_has_is_waited_for_only_so_long(labgrid: Labgrid) -> None:
    assert labgrid.client("-p", "pi-place", "acquire").returncode == 0
    pool = labgrid.pool(wait_seconds=2.0)
    try:
        with pytest.raises(AgentFailure, match="board pi: no place became free within 2 s") as caught:
            pool.lease("fake", board="pi").__enter__()
    finally:
        pool.close()
    assert caught.value.symptom == "board-lost"
    assert "Reservation" not in labgrid.client("reservations").stdout


def test_what_is_wrong_with_a_description() -> None:
    def made(**settings: object) -> object:
        return reach_of(Board("pi", "aarch64", "labgrid", {"coordinator": "lab:20408", **settings}))

    with pytest.raises(UsageError, match="board pi: reach: give either place or tags"):
        made()
    missing = reach_of(
        Board("pi", "aarch64", "labgrid", {"coordinator": "lab:20408", "place": "pi", "client": "absent-client"})
    ).missing()
    assert missing == "absent-client not found; install it: pip install 'bench-plugin[labgrid]'"
