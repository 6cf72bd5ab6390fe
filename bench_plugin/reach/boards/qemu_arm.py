"""Arm microcontrollers as whole machines in QEMU: the command that runs firmware with its UART on a descriptor."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

PROGRAM = "qemu-system-arm"
PACKAGE = "qemu-system-arm"
MACHINES = ("mps2-an385", "mps3-an547")
# Each instruction takes a nanosecond of the machine's time, so that its timers count instructions, always the same.
COUNTING = ("-icount", "shift=0")
QUIET = ("-display", "none", "-monitor", "none", "-nic", "none")


def missing() -> str:
    """That QEMU is missing, and its package; "" where it is there."""
    return "" if shutil.which(PROGRAM) else f"{PROGRAM} not found; install {PACKAGE}"


def command(machine: str, firmware: Path) -> Sequence[str]:
    """The arguments that run firmware, an ELF file, on a machine; ``{fd}`` stands for the descriptor of its UART."""
    line = ("-chardev", "socket,id=uart,fd={fd}", "-serial", "chardev:uart")
    return [shutil.which(PROGRAM) or PROGRAM, "-M", machine, *QUIET, *COUNTING, *line, "-kernel", str(firmware)]
