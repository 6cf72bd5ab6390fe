"""The machine that an artefact is built for, read from its bytes."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ELF_MAGIC = b"\x7fELF"
# Values of e_machine (ELF specification, "Object Files", and the register of machine numbers).
MACHINES = {3: "x86", 40: "Arm", 62: "x86-64", 183: "AArch64", 243: "RISC-V"}


def elf_machine(path: Path) -> int | None:
    """e_machine of an ELF file, None for any other file (ELF specification, "ELF Header").

    Raises OSError for a file that cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != ELF_MAGIC:
        return None
    order = "<" if head[5] == 1 else ">"
    return int(struct.unpack(f"{order}H", head[18:20])[0])


def described(files: Mapping[str, Path]) -> dict[str, Any]:
    """Size in bytes, content hash and, for ELF files, the machine of every file."""
    found: dict[str, Any] = {}
    for name, path in files.items():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        row: dict[str, Any] = {"bytes": path.stat().st_size, "sha256": digest}
        machine = elf_machine(path)
        if machine is not None:
            row["machine"] = MACHINES.get(machine, str(machine))
        found[name] = row
    return found


def elf_files(files: Mapping[str, Path]) -> dict[str, int]:
    """e_machine of the files that are ELF files, by name."""
    machines = {name: elf_machine(path) for name, path in files.items()}
    return {name: machine for name, machine in machines.items() if machine is not None}


def wrong_machine(files: Mapping[str, Path], target: Mapping[str, Any]) -> str:
    """Why the files are not for ``target``; empty when there are ELF files and all of them are for it."""
    wanted = target.get("elf_machine")
    seen = elf_files(files)
    if not seen:
        return "no file of the artefact says which architecture it is for"
    wrong = {name: machine for name, machine in seen.items() if machine != wanted}
    if not wrong:
        return ""
    name, machine = next(iter(wrong.items()))
    return f"{name} is for {MACHINES.get(machine, machine)}, not for {MACHINES.get(int(wanted or 0), wanted)}"
