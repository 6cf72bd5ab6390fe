"""Kind ``uart``: what its settings may be, and boards behind a device, a TCP port and a flashing command."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.reach.boards import qemu_arm
from bench_plugin.reach.boards.unicorn_arm import command
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import AgentFailure
from tests.reach.boards.firmware import Firmware, board, built, leased, log_of, python, run

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 1, 4)


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    """The firmware of the small model."""
    return built(tmp_path_factory.mktemp("firmware"))


class Hardware:
    """Stands for a real board: the machine in Unicorn, whose UART ends at a descriptor that it is given."""

    def __init__(self, firmware: Firmware, line: int) -> None:
        argv = command(Toolchains().ensure("unicorn"), firmware.files["program.elf"])
        argv = [part.replace("{fd}", str(line)) for part in argv]
        self.process = subprocess.Popen(argv, pass_fds=[line], stderr=subprocess.DEVNULL)

    def end(self) -> None:
        """Switch it off."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def device(firmware: Firmware) -> Iterator[str]:
    """The path of a serial device, a pseudo-terminal, with a board behind it."""
    board_side, host_side = os.openpty()
    hardware = Hardware(firmware, board_side)
    yield os.ttyname(host_side)
    hardware.end()
    os.close(board_side)
    os.close(host_side)


def test_a_serial_device_is_a_board(device: str, firmware: Firmware, tmp_path: Path) -> None:
    with leased(tmp_path, board("m3", device=device, baud=115200)) as agent:
        answer = run(agent, firmware, X)
        assert np.allclose(answer.arrays["out0"], np.tanh(X) * 3 + 1, rtol=0, atol=1e-6)
        # Of a device the same counter is a clock, and no instructions were counted.
        assert len(answer.meta["counters"]["device_ns"]) == len(X)
        assert "instructions" not in answer.meta["counters"] and "timing" not in answer.meta["placement"]


def test_a_tcp_port_that_passes_a_line_on_is_a_board(firmware: Firmware, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        started: list[Hardware] = []

        def serve() -> None:
            line, _ = server.accept()
            with line:
                started.append(Hardware(firmware, line.fileno()))

        thread = threading.Thread(target=serve)
        thread.start()
        port = server.getsockname()[1]
        with leased(tmp_path, board("m3", socket=f"127.0.0.1:{port}")) as agent:
            assert np.allclose(run(agent, firmware, X).arrays["out0"], np.tanh(X) * 3 + 1, rtol=0, atol=1e-6)
        thread.join()
        started[0].end()


def test_firmware_is_put_onto_the_board_before_its_line_is_opened(
    device: str, firmware: Firmware, tmp_path: Path
) -> None:
    copied = tmp_path / "copied.elf"
    script = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"
    over = board("m3", device=device, flash=(python(), "-c", script, "{program}", str(copied)))
    with leased(tmp_path / "board", over) as agent:
        run(agent, firmware, X)
    assert copied.read_bytes() == firmware.files["program.elf"].read_bytes()


def test_a_flashing_command_that_fails_is_a_lost_board(device: str, firmware: Firmware, tmp_path: Path) -> None:
    over = board("m3", device=device, flash=(python(), "-c", "raise SystemExit('no probe')"))
    with leased(tmp_path, over) as agent, pytest.raises(AgentFailure, match="exit status 1") as caught:
        run(agent, firmware, X)
    assert caught.value.symptom == "board-lost"
    assert "no probe" in log_of(tmp_path).read_text(encoding="utf-8")


def test_a_board_with_another_model_is_refused(device: str, tmp_path: Path) -> None:
    """Without a flashing command the board has what it has: its digest is compared."""
    other = built(tmp_path / "other", more="static const int another = 1;")
    refused = pytest.raises(AgentFailure, match="the model that is linked in has another digest")
    with leased(tmp_path / "board", board("m3", device=device)) as agent, refused:
        run(agent, other, X)


def test_a_board_that_is_switched_off_is_lost(firmware: Firmware, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    hardware = Hardware(firmware, theirs.fileno())
    theirs.close()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            server.close()  # nothing answers when the line is opened again
            with line, ours:
                passed = [
                    threading.Thread(target=_pass, args=pair, daemon=True) for pair in ((line, ours), (ours, line))
                ]
                for thread in passed:
                    thread.start()
                passed[1].join()
                line.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=serve, daemon=True).start()
        with leased(tmp_path, board("m3", socket=f"127.0.0.1:{server.getsockname()[1]}")) as agent:
            run(agent, firmware, X)
            hardware.end()
            with pytest.raises(AgentFailure) as caught:
                run(agent, firmware, X)
            assert caught.value.symptom == "board-lost"
            assert "serial line ended" in caught.value.message or "refused" in caught.value.message


def test_a_board_that_says_nothing_is_lost(firmware: Firmware, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = board("m3", socket=f"127.0.0.1:{server.getsockname()[1]}")
        refused = pytest.raises(AgentFailure, match="the agent did not start")
        with leased(tmp_path, over, start_seconds=1.0) as agent, refused as caught:
            run(agent, firmware, X)
    assert caught.value.symptom == "board-lost"


def _pass(one: socket.socket, other: socket.socket) -> None:
    try:
        while data := one.recv(4096):
            other.sendall(data)
    except OSError:
        pass


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"baud": 9600}, "reach needs one of machine, device and socket"),
        ({"machine": "unicorn", "device": "/dev/x"}, "it has machine and device"),
        ({"machine": "mps2-an358"}, "valid are: unicorn, mps2-an385, mps3-an547"),
        ({"socket": "lab7"}, "it must be host:port"),
        ({"device": "/dev/x", "baud": 12345}, "this system has no such speed"),
    ],
)
def test_settings_that_are_not_valid_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        board("m3", **settings)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert board(machine="mps2-an385").missing() == "qemu-system-arm not found; install qemu-system-arm"
    assert board(machine="unicorn").missing() == ""
    assert board(device="/dev/none").missing() == "/dev/none not found; connect the board"
    assert qemu_arm.missing()
