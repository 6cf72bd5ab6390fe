"""The kind of reach ``qemu-system``: an emulated Linux board, which is started for the run and forgets everything."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.records import Record, about
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.linux import image
from bench_plugin.reach.boards.linux.deployed import DeployedAgents
from bench_plugin.reach.boards.linux.limits import BoardLimits
from bench_plugin.reach.boards.linux.link import BOARD_LOST, Address, Link
from bench_plugin.reach.boards.linux.shipping import Machine, disk, made_before, runtime
from bench_plugin.reach.boards.linux.ssh import settings_of
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent
from bench_plugin.reach.processes.nursery import Child
from bench_plugin.reach.processes.workplace import Workplace

EMULATOR = "qemu-system-aarch64"
BOOT_SECONDS = 90.0
CONNECT_SECONDS = 30.0
POLL_SECONDS = 0.05
PORTS = 5  # how many are tried: another program may take one before the emulator does
PORT_TAKEN = "Could not set up host forwarding rule"
MOST_DISKS = 20  # the machine "virt" has slots for 32 devices
SILENCE = 20  # seconds; its link cannot be pulled, and a busy machine lets it wait


class Settings(Record, frozen=True):
    """The keys of ``reach`` for an emulated Linux board."""

    image: Annotated[Literal["qemu-aarch64-linux"], about("the image, which bench board image makes")]
    cpu: Annotated[str, about("the processor that QEMU emulates", min_length=1)] = "cortex-a72"
    cores: Annotated[int, about("how many of them", ge=1, le=8)] = 2
    memory_mb: Annotated[int, about("its memory in MiB, which also holds its files", ge=512)] = 2048


SETTINGS = Settings


class QemuSystemReach:
    """Starts agents on an emulated board. The emulator runs until the end of the run."""

    programs = False

    def __init__(self, board: Board, settings: Settings) -> None:
        self.board = board
        self._settings = settings
        self._deployed = DeployedAgents(board.name, "python3", ship=True, limits=BoardLimits())
        self._emulator: Child | None = None
        self._link: Link | None = None
        self._starts = 0

    def missing(self) -> str:
        """Which program this machine lacks, or that there is no image."""
        for tool, package in ((EMULATOR, "qemu-system-arm"), ("ssh", "openssh-client")):
            if shutil.which(tool) is None:
                return f"{tool} not found; Debian: package {package}"
        if not image.image().made:
            return f"board {self.board.name} has no image; make it: bench board image {image.NAME}"
        return ""

    def acquire(self, toolchain: str, place: Workplace) -> LeasedAgent:
        """An agent for the adapters of a toolchain. Raises AgentFailure."""
        if self._link is None or not self._link.alive or self._emulator is None or self._emulator.ended.is_set():
            self._stop(place)
            self._link = self._started(place, toolchain)
        return self._deployed.start(self._link, toolchain, place)

    def release(self) -> None:
        """End the connection; the emulator ends with the run's processes."""
        if self._link is not None:
            self._link.close()

    def _stop(self, place: Workplace) -> None:
        self.release()
        self._link = None
        if self._emulator is not None:
            place.nursery.kill(self._emulator)
            self._emulator = None

    def _started(self, place: Workplace, toolchain: str) -> Link:
        """A link to a fresh emulator, whose disks are the runtimes of the toolchain and those that were made before."""
        made = image.image()
        disks = self._disks(made, place.toolchains, toolchain)
        for _ in range(PORTS):
            self._starts += 1
            folder = place.scratch / f"machine-{self._starts}"
            folder.mkdir()
            port = _free_port()
            log = folder / "emulator.log"
            ours, theirs = socket.socketpair()
            ours.close()
            self._emulator = place.nursery.spawn(self._command(made, port, disks), place.variables, folder, theirs, log)
            if self._booted(folder / "console.log", log):
                break
        else:
            raise AgentFailure(BOARD_LOST, f"board {self.board.name}: no free port for the emulator in {PORTS} tries")
        options = (f"UserKnownHostsFile={made.known_hosts}", f"HostKeyAlias={image.NAME}")
        address = Address("127.0.0.1", "root", port, str(made.key), options, config="/dev/null", silence=SILENCE)
        link = Link(self.board.name, address, folder / "link", place.nursery, place.variables)
        link.open(CONNECT_SECONDS)
        return link

    def _command(self, made: image.Image, port: int, disks: Sequence[Path]) -> list[str]:
        said = self._settings
        attached: list[str] = []
        for number, path in enumerate(disks):
            attached += ["-drive", f"if=none,id=disk{number},format=raw,file={path}"]
            attached += ["-device", f"virtio-blk-device,drive=disk{number}"]
        return [
            EMULATOR, "-nodefaults", "-no-reboot", "-snapshot", "-display", "none", "-monitor", "none",
            "-M", "virt", "-cpu", said.cpu, "-smp", str(said.cores), "-m", str(said.memory_mb),
            "-accel", "tcg,thread=multi", "-serial", "file:console.log",
            "-kernel", str(made.kernel), "-initrd", str(made.system), "-append", "console=ttyAMA0 quiet panic=-1",
            "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22",
            "-device", "virtio-net-device,netdev=net", "-device", "virtio-rng-device",
            *attached,
        ]  # fmt: skip

    def _disks(self, made: image.Image, toolchains: Toolchains, toolchain: str) -> list[Path]:
        """The runtimes as disks, at most one for each of the machine's free slots."""
        machine = Machine("aarch64", made.python)
        found: list[Path | None] = []
        try:
            found.append(disk(runtime(toolchains[toolchain], machine)))
            for name in toolchains.names:
                if name != toolchain and toolchains[name].boards:
                    before = made_before(toolchains[name], machine)
                    found.append(disk(before) if before else None)
        except BenchError as error:
            raise AgentFailure("harness", f"board {self.board.name}: {error}") from error
        return [path for path in found if path is not None][:MOST_DISKS]

    def _booted(self, console: Path, log: Path) -> bool:
        """Wait until the board is ready; false where another program took its port. Raises AgentFailure."""
        assert self._emulator is not None
        until = time.monotonic() + BOOT_SECONDS
        while not (console.exists() and image.READY in console.read_text("utf-8", "replace")):
            if self._emulator.ended.wait(POLL_SECONDS):
                said = log.read_text("utf-8", "replace").strip()
                if PORT_TAKEN in said:
                    return False
                raise AgentFailure(
                    BOARD_LOST, f"board {self.board.name}: the emulator ended: {said[-600:]}", log=str(log)
                )
            shown = console.read_text("utf-8", "replace") if console.exists() else ""
            if image.FAILED in shown:
                raise self._not_ready("started without a network; its console says why", shown, console)
            if time.monotonic() > until:
                raise self._not_ready(f"was not ready {BOOT_SECONDS:.0f} s after its start", shown, console)
        return True

    def _not_ready(self, why: str, shown: str, console: Path) -> AgentFailure:
        """The board lost at its start; ``shown`` is what stands on its console."""
        text = f"board {self.board.name} {why}"
        return AgentFailure(BOARD_LOST, text, detail=f"{text}\n{shown[-4000:]}", log=str(console))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def emulated(settings: Mapping[str, Any]) -> bool:
    """Every board of this kind is a program of this machine."""
    return True


def reach(board: Board) -> QemuSystemReach:
    """The reach of a board. Raises UsageError for settings that are not valid."""
    return QemuSystemReach(board, settings_of(board, Settings))
