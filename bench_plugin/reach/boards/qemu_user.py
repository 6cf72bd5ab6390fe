"""Kind ``qemu-user``: compiled programs of other architectures on this machine, by QEMU's emulation of Linux processes.

No other system is emulated: what is proven is the compiled code and its numbers. So the identity of such a board is
``emulated-on-host``, and its times say nothing of a device. QEMU counts no instructions here: ``-icount`` is for whole
machines, and Debian does not package the plugin that counts them for processes.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from bench_plugin.agent.channel import Channel
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.records import NOT_BLANK, Record, about
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.program_agent import ProgramAgent
from bench_plugin.reach.processes.client import Agent
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Source
from bench_plugin.reach.processes.supervisor import LocalProcess
from bench_plugin.reach.processes.workplace import Workplace

PACKAGE = "qemu-user-static"
IDENTITY = "emulated-on-host"


class Settings(Record, frozen=True):
    """The keys of the table ``reach`` beside ``kind``."""

    program: Annotated[str, about("QEMU's program of the architecture, such as qemu-aarch64-static", pattern=NOT_BLANK)]
    cpu: Annotated[
        str, about("the processor that it emulates, one that it lists under -cpu help; empty: its default")
    ] = ""


SETTINGS = Settings


@dataclass(frozen=True)
class QemuUser:
    """The reach of one board: ``program`` is QEMU's, ``cpu`` the processor that it emulates."""

    board: Board
    program: str
    cpu: str = ""
    programs: bool = True

    def missing(self) -> str:
        """Which program is missing, and its package; "" if none is."""
        if shutil.which(self.program) is not None:
            return ""
        return f"{self.program} not found; install {PACKAGE}"

    def acquire(self, toolchain: str, place: Workplace) -> LeasedAgent:
        """The agent of the board. Raises AgentFailure where QEMU is not there."""
        found = shutil.which(self.program)
        if found is None:
            raise AgentFailure("harness", f"board {self.board.name}: {self.missing()}", log=str(place.log))
        argv = [found, *(["-cpu", self.cpu] if self.cpu else [])]

        def start(program: Path) -> Agent:
            return _started([*argv, str(program)], place)

        return ProgramAgent(self.board.name, start, place, emulated=True, identity=IDENTITY)

    def release(self) -> None:
        """Nothing runs between leases but children of the nursery, which ends them."""


def emulated(settings: Mapping[str, Any]) -> bool:
    """Every board of this kind is a program of this machine."""
    return True


def reach(board: Board) -> QemuUser:
    """The reach of a board of this kind. Raises UsageError for settings that are not valid."""
    program, cpu = board.settings.get("program"), board.settings.get("cpu", "")
    if not isinstance(program, str) or not program or not isinstance(cpu, str):
        text = "reach.program must be the name of QEMU's program, such as qemu-aarch64-static, and reach.cpu a text"
        raise UsageError(f"board {board.name}: {text}")
    return QemuUser(board, program, cpu)


def _started(argv: list[str], place: Workplace) -> Agent:
    """The program as a child of the nursery, connected by a socket pair. Raises AgentFailure."""
    ours, theirs = socket.socketpair()
    try:
        child = place.nursery.spawn([*argv, "--fd", "{fd}"], place.variables, place.scratch, theirs, place.log)
    except BenchError as error:
        ours.close()
        raise AgentFailure("harness", str(error), log=str(place.log)) from error
    return Agent(
        Channel(ours), LocalProcess(place.nursery, child), place.log, _no_adapters, place.results, place.scratch
    )


def _no_adapters(name: str) -> list[Source]:
    """A program is sent no adapter."""
    return []
