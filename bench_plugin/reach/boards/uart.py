"""Kind ``uart``: microcontrollers over a serial line, whose firmware is the C agent with the model linked in.

The line is that of an emulated machine, a device of this machine, or a TCP port that passes a line on. Real boards get
their firmware by a command of the board's description (docs/microcontrollers.md).
"""

from __future__ import annotations

import os
import socket
import subprocess
import termios
import tty
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.records import Record, about
from bench_plugin.domain.texts.choices import hint
from bench_plugin.reach.boards import qemu_arm, uart_link, unicorn_arm
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.program_agent import ProgramAgent
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits, Source
from bench_plugin.reach.processes.nursery import Child
from bench_plugin.reach.processes.supervisor import LocalProcess
from bench_plugin.reach.processes.workplace import Workplace

UNICORN = "unicorn"
MACHINES = (UNICORN, *qemu_arm.MACHINES)
BAUD = 115200
FLASH_SECONDS = 120.0
CONNECT_SECONDS = 10.0
IDENTITY = "emulated-on-host"
FAULT_STATUS = 3  # of the machine in Unicorn


class Settings(Record, frozen=True):
    """The keys of the table ``reach`` beside ``kind``; one of machine, device and socket."""

    machine: Annotated[Literal["", "unicorn", "mps2-an385", "mps3-an547"], about("an emulated machine")] = ""
    device: Annotated[str, about("the serial line of a board, such as /dev/ttyUSB0")] = ""
    socket: Annotated[str, about("a TCP port that passes a serial line on, as host:port")] = ""
    baud: Annotated[int, about("symbols per second of the device, such as 115200", gt=0)] = BAUD
    flash: Annotated[
        tuple[str, ...],
        about(
            "the command of this machine that puts firmware onto the board, an argument list; {program} is an ELF file"
        ),
    ] = ()


SETTINGS = Settings


@dataclass(frozen=True)
class Uart:
    """The reach of one board; one of ``machine``, ``device`` and ``socket`` is not empty."""

    board: Board
    machine: str = ""
    device: str = ""
    socket: str = ""
    baud: int = BAUD
    flash: Sequence[str] = field(default=())
    programs: bool = True

    def missing(self) -> str:
        """Which program or device of this machine is missing, and its package; "" if none is."""
        if self.machine in qemu_arm.MACHINES:
            return qemu_arm.missing()
        if self.device and not os.path.exists(self.device):
            return f"{self.device} not found; connect the board"
        return ""

    def acquire(self, toolchain: str, place: Workplace) -> LeasedAgent:
        """The agent of the board. Raises AgentFailure where its line cannot be opened."""
        if missing := self.missing():
            raise AgentFailure("board-lost", f"board {self.board.name}: {missing}", log=str(place.log))
        start = self._emulated if self.machine else self._connected
        emulated = bool(self.machine)
        identity = IDENTITY if emulated else ""
        return ProgramAgent(
            self.board.name, lambda program: start(program, place), place, emulated=emulated, identity=identity
        )

    def release(self) -> None:
        """Nothing runs between leases but children of the nursery, which ends them."""

    def _emulated(self, program: Path, place: Workplace) -> Agent:
        ours, theirs = socket.socketpair()
        try:
            argv = self._argv(program, place)
            child = place.nursery.spawn(argv, place.variables, place.scratch, theirs, place.log)
        except BenchError as error:
            ours.close()
            theirs.close()
            raise AgentFailure("harness", str(error), log=str(place.log)) from error
        return _agent(ours.detach(), place, child)

    def _argv(self, program: Path, place: Workplace) -> Sequence[str]:
        if self.machine == UNICORN:
            return unicorn_arm.command(place.environments(UNICORN), program)
        return qemu_arm.command(self.machine, program)

    def _connected(self, program: Path, place: Workplace) -> Agent:
        try:
            if self.flash:
                self._flashed(program, place)
            line = opened(self.device, self.baud) if self.device else self._dialled()
        except (OSError, subprocess.SubprocessError, termios.error) as error:
            where = self.device or self.socket
            raise AgentFailure(
                "board-lost", f"board {self.board.name}: {where}: {error}", log=str(place.log)
            ) from error
        return _agent(line, place, None)

    def _dialled(self) -> int:
        host, _, port = self.socket.rpartition(":")
        connection = socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection.detach()

    def _flashed(self, program: Path, place: Workplace) -> None:
        argv = [part.replace("{program}", str(program)) for part in self.flash]
        with place.log.open("ab") as log:
            subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=FLASH_SECONDS, check=True,
                env=dict(place.variables),
            )  # fmt: skip


def emulated(settings: Mapping[str, Any]) -> bool:
    """Whether the board is a machine in Unicorn or QEMU."""
    return bool(settings["machine"])


def reach(board: Board) -> Uart:
    """The reach of a board of this kind. Raises UsageError for settings that are not valid."""
    given: dict[str, Any] = dict(board.settings)
    named = [name for name in ("machine", "device", "socket") if given.get(name)]
    if len(named) != 1:
        text = "reach needs one of machine, device and socket"
        raise UsageError(f"board {board.name}: {text}{'; it has ' + ' and '.join(named) if named else ''}")
    machine = given.get("machine", "")
    if machine and machine not in MACHINES:
        raise UsageError(f"board {board.name}: reach.machine is {machine!r}; {hint(machine, MACHINES)}")
    if given.get("socket") and not given["socket"].rpartition(":")[2].isdecimal():
        raise UsageError(f"board {board.name}: reach.socket is {given['socket']!r}; it must be host:port")
    if given.get("device") and _speed(given.get("baud", BAUD)) is None:
        raise UsageError(f"board {board.name}: reach.baud is {given['baud']}; this system has no such speed of a line")
    return Uart(board, **given)


def opened(device: str, baud: int) -> int:
    """The descriptor of a serial line without echo and without any change of bytes. Raises OSError, termios.error."""
    line = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        tty.setraw(line)
        speed = _speed(baud)
        if speed is not None:
            attributes = termios.tcgetattr(line)
            attributes[2] |= termios.CLOCAL | termios.CREAD
            attributes[4] = attributes[5] = speed
            termios.tcsetattr(line, termios.TCSANOW, attributes)
        termios.tcflush(line, termios.TCIOFLUSH)
    except termios.error:
        os.close(line)
        raise
    return line


def _speed(baud: int) -> int | None:
    found = getattr(termios, f"B{baud}", None)
    return found if isinstance(found, int) else None


class _Board:
    """What firmware runs in: an emulator below the guardian, or a board, which has no process. It has a link."""

    shares_files = False

    def __init__(self, link: uart_link.Link, process: LocalProcess | None, log: Path) -> None:
        self._link = link
        self._process = process
        self._log = log

    @property
    def emulated(self) -> bool:
        """Whether it is a program of this machine."""
        return self._process is not None

    def resident(self) -> int:
        """Resident bytes of the emulator; 0 for a board."""
        return self._process.resident() if self._process else 0

    def spent(self) -> float | None:
        """Seconds of processor time of the emulator; None for a board."""
        return self._process.spent() if self._process else None

    def kill(self) -> int | None:
        """End the link and the emulator; returns its status as of waitpid(2)."""
        self._link.close()
        return self._process.kill() if self._process else None

    def ended(self) -> int | None:
        """The emulator's status as of waitpid(2) if it ends within a moment, else None."""
        return self._process.ended() if self._process else None

    @property
    def gone(self) -> bool:
        """Whether it is known to have ended."""
        return bool(self._link.ended) or (self._process is not None and self._process.gone)

    def fault(self) -> str:
        """The fault of the firmware, as it or the machine in Unicorn reported it; empty where there was none."""
        if self._link.fault:
            return self._link.fault
        status = self._process.ended() if self._process and self._process.gone else None
        if status is None or not os.WIFEXITED(status) or os.WEXITSTATUS(status) != FAULT_STATUS:
            return ""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else ""

    def why(self) -> str:
        """Why the line ended; empty where it did not."""
        return self._link.ended


class _Firmware(Agent):
    """The agent in firmware: a lost one is reported with the fault that ended it."""

    def greet(self, seconds: float = 0.0, *, wait: float = 0.0) -> None:
        """Wait for its hello. Raises AgentFailure: ``crash`` for a fault, ``board-lost`` for a silent board."""
        try:
            super().greet(seconds, wait=wait)
        except AgentFailure as error:
            found = self._explained(error)
            if found is error and isinstance(self.process, _Board) and not self.process.emulated:
                found = AgentFailure("board-lost", error.message, stage=error.stage, detail=error.detail, log=error.log)
            raise found from error

    def ask(
        self, kind: int, meta: Mapping[str, Any], limits: Limits, arrays: Sequence[wire.Array] = (),
        started: Callable[[], None] | None = None,
    ) -> wire.Frame:  # fmt: skip
        """Make a request. Raises AgentFailure, for a fault with symptom ``crash``."""
        try:
            return super().ask(kind, meta, limits, arrays, started)
        except AgentFailure as error:
            raise self._explained(error) from error

    def _explained(self, error: AgentFailure) -> AgentFailure:
        board = self.process
        if not self.lost or not isinstance(board, _Board):
            return error
        if fault := board.fault():
            return AgentFailure("crash", fault, stage=error.stage, detail=f"{fault}\n{error.detail}", log=error.log)
        if (why := board.why()) and board.ended() is None:
            return AgentFailure("board-lost", why, stage=error.stage, detail=f"{why}\n{error.detail}", log=error.log)
        return error


def _agent(line: int, place: Workplace, child: Child | None) -> Agent:
    link, stream = uart_link.connected(line)
    board = _Board(link, LocalProcess(place.nursery, child) if child else None, place.log)
    return _Firmware(Channel(stream), board, place.log, _no_adapters, place.results)


def _no_adapters(name: str) -> list[Source]:
    """Firmware is sent no adapter."""
    return []
