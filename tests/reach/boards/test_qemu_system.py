"""The emulated Linux board: what is missing, an emulator that fails; with ``--nightly`` the whole board."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.linux import image, qemu_system, shipping
from bench_plugin.reach.boards.linux.shipping import Machine
from bench_plugin.reach.boards.registry import reach_of
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import AgentFailure, Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.boards.test_linux_image import program
from tests.reach.processes.conftest import FAKE, LIMITS, alive, until

EMULATOR = "qemu-system-aarch64"
SETTINGS = {"image": image.NAME, "cpu": "cortex-a72", "cores": 2, "memory_mb": 2048}
BOARD = Board("virtual", "aarch64", "qemu-system", SETTINGS)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs, and nothing else to be found; the cache is empty."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return folder


def test_what_is_missing_is_said_with_what_to_do(programs: Path) -> None:
    reach = reach_of(BOARD)
    assert reach.missing() == "qemu-system-aarch64 not found; Debian: package qemu-system-arm"
    program(programs, EMULATOR, "")
    assert reach.missing() == "ssh not found; Debian: package openssh-client"
    program(programs, "ssh", "")
    assert reach.missing() == "board virtual has no image; make it: bench board image qemu-aarch64-linux"
    image.image().folder.mkdir(parents=True)
    assert reach.missing() == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image": "debian"}, "board virtual: reach: Invalid enum value 'debian'"),
        ({"image": image.NAME, "memory_mb": 4}, "memory_mb"),
        ({"image": image.NAME, "memory": 1024}, "unknown field `memory`"),
    ],
)
def test_settings_that_are_not_valid(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        reach_of(Board("virtual", "aarch64", "qemu-system", settings))


def failure(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> AgentFailure:
    """How a lease fails with this emulator, an image of nothing, and a runtime of nothing."""
    monkeypatch.setenv("BENCH_CACHE", str(folder / "cache"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    program(folder, EMULATOR, script)
    made = image.image()
    made.folder.mkdir(parents=True)
    made.folder.joinpath("python").write_text("3.11")
    found = Toolchains()["ncnn"]
    runtime = shipping.place(found, Machine("aarch64", "3.11"))
    runtime.mkdir(parents=True)
    runtime.joinpath(f"{'0' * 64}.tar").touch()
    runtime.joinpath(f"{'0' * 64}.ext4").touch()
    pool = make_pool(folder)
    try:
        with pytest.raises(AgentFailure) as caught, pool.lease("ncnn", board="virtual"):
            pass
    finally:
        pool.close()
    return caught.value


def make_pool(folder: Path) -> AgentPool:
    """A pool with the board ``virtual``, whose adapters are all the fake one."""
    return AgentPool(
        lambda name: Path(sys.executable), folder / "logs", lambda name: [Source(name, FAKE.read_bytes())],
        folder / "scratch", boards={"virtual": reach_of(BOARD)},
    )  # fmt: skip


def test_an_emulator_that_ends_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = failure(tmp_path, monkeypatch, "echo 'could not load kernel' >&2; exit 1")
    assert found.symptom == "board-lost"
    assert found.message == "board virtual: the emulator ended: could not load kernel"


def test_a_port_that_is_taken_is_left_to_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = "Could not set up host forwarding rule 'tcp:127.0.0.1:1-:22'"
    found = failure(tmp_path, monkeypatch, f'echo x >> {tmp_path}/tries; echo "{taken}" >&2; exit 1')
    assert found.symptom == "board-lost"
    assert "no free port for the emulator in 5 tries" in found.message
    assert len(tmp_path.joinpath("tries").read_text().split()) == 5


def test_a_board_that_does_not_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu_system, "BOOT_SECONDS", 0.5)
    found = failure(
        tmp_path, monkeypatch, f"echo $$ > {tmp_path}/pid; echo 'Kernel panic' > console.log; exec sleep 60"
    )
    assert found.symptom == "board-lost"
    assert "was not ready" in found.message
    assert "Kernel panic" in found.detail
    assert until(lambda: not alive(int(tmp_path.joinpath("pid").read_text()))), "the emulator ends with the run"


def test_a_board_without_a_network_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"insmod: ERROR: could not insert module virtio.ko\\n{image.FAILED}"
    began = time.monotonic()
    found = failure(tmp_path, monkeypatch, f"printf '{said}\\n' > console.log; exec sleep 60")
    assert found.symptom == "board-lost" and time.monotonic() - began < qemu_system.BOOT_SECONDS / 2
    assert "started without a network" in found.message
    assert "could not insert module" in found.detail


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentPool]:
    """A pool with the emulated board, whose image is made if it is not there."""
    for tool, package in ((EMULATOR, "qemu-system-arm"), ("ssh", "openssh-client")):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} not found; Debian: package {package}")
    if not image.image().made and (why := image.missing_tools()):
        pytest.skip(why)
    image.make(lambda text: None)
    pool = make_pool(tmp_path_factory.mktemp("board"))
    yield pool
    pool.close()


@pytest.mark.nightly
def test_agents_of_two_toolchains_run_on_the_emulated_board(board: AgentPool, tmp_path: Path) -> None:
    given = tmp_path / "given.bin"
    given.write_bytes(os.urandom(1_000_000))
    with board.lease("ncnn", board="virtual") as agent:
        first = agent.call("fake", "go", {"given": 1}, files={"given": given}, limits=LIMITS)
    with board.lease("iree", board="virtual") as agent:
        second = agent.call("fake", "go", {"given": 2}, limits=LIMITS)
    assert first.meta["given"] == {"given": 1}
    assert second.meta["pid"] != first.meta["pid"]


@pytest.mark.nightly
def test_an_emulator_that_is_killed_is_started_again(board: AgentPool) -> None:
    with board.lease("ncnn", board="virtual") as agent:
        agent.call("fake", "go", {}, limits=LIMITS)
        emulators = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _of(pid, board)]
        assert emulators
        threading.Timer(1.0, lambda: [os.kill(pid, signal.SIGKILL) for pid in emulators]).start()
        with pytest.raises(AgentFailure) as caught:
            agent.call("fake", "go", {"stages": {"run": 120.0}}, limits=LIMITS)
    assert caught.value.symptom == "board-lost"
    with board.lease("ncnn", board="virtual") as agent:
        assert agent.call("fake", "go", {"given": 3}, limits=LIMITS).meta["given"] == {"given": 3}


def _of(pid: int, pool: AgentPool) -> bool:
    """Whether a process is an emulator of this pool."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()
        return command.startswith(EMULATOR) and str(pool._scratch) in os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return False
