"""The file of a target, ``boards/targets/<name>.toml``: what compilers need of it, and what is known of the hardware.

Figures stand in groups, each of which names its source: what one publication says is not mixed with what another says.
Compilers get the file without them (:func:`for_tools`), so that a price changes no artefact.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from bench_plugin.domain.records import Record, about, convert, load, wrong
from bench_plugin.inventory.hardware.figures import FIGURES, Memory, Peak, Power, Price, Processor, Software

Texts = tuple[str, ...]
UART_DRIVERS = ("cmsdk",)  # those of the firmware (agent/c/firmware_parts.py)


class TargetFile(Record, frozen=True):
    """A machine that compilers compile for, or one of which figures are published."""

    name: Annotated[str, about("what --targets calls it; the name of the file")]
    title: Annotated[str, about("what grids call it")] = ""
    architecture: Annotated[str, about("the instruction set, such as aarch64 or arm")] = ""
    elf_machine: Annotated[int, about("e_machine of its ELF files, which artefacts are checked by", ge=0)] = 0
    triple: Annotated[str, about("LLVM's triple of it")] = ""
    cpu: Annotated[str, about("LLVM's name of its processor")] = ""
    abi: Annotated[str, about("the calling convention, such as hard or lp64d")] = ""
    features: Annotated[Texts, about("features of the processor, as LLVM writes them: +v")] = ()
    gcc: Annotated[str, about("the C compiler for it, a command")] = ""
    flags: Annotated[Texts, about("flags of the C compiler")] = ()
    package: Annotated[str, about("the system packages that hold the C compiler")] = ""
    bare_metal: Annotated[bool, about("it has no operating system: no files, no heap")] = False
    flash_origin: Annotated[int, about("of bare metal, the address of its flash", ge=0, lt=1 << 32)] = 0
    flash_bytes: Annotated[int, about("of bare metal, the size of its flash in bytes", ge=0)] = 0
    ram_origin: Annotated[int, about("of bare metal, the address of its RAM", ge=0, lt=1 << 32)] = 0
    ram_bytes: Annotated[int, about("of bare metal, the size of its RAM in bytes", ge=0)] = 0
    uart_driver: Annotated[
        str,
        about("of bare metal, the driver of its UART: cmsdk, or a C file beside this one"),
    ] = ""
    uart_base: Annotated[int, about("of bare metal, the address of its UART's registers", ge=0, lt=1 << 32)] = 0
    systick_hz: Annotated[int, about("of bare metal, how often SysTick counts in a second", ge=0, lt=1 << 32)] = 0
    simulated: Annotated[
        bool, about("the runtime of its compiler simulates it: its artefacts run here, and their seconds are no times")
    ] = False
    vendor: Annotated[str, about("who makes it")] = ""
    processor: Annotated[Processor | None, about("what computes on it")] = None
    memories: Annotated[tuple[Memory, ...], about("its memories")] = ()
    peaks: Annotated[tuple[Peak, ...], about("its highest figures, by mode")] = ()
    power: Annotated[tuple[Power, ...], about("what power it takes")] = ()
    prices: Annotated[tuple[Price, ...], about("what it costs")] = ()
    software: Annotated[Software | None, about("what runs on it")] = None


def read_target(path: Path) -> dict[str, Any]:
    """A target as plain data, with the keys of its file.

    Raises UsageError, with the file and the line, for a file that cannot be read or is not valid.
    """
    text, data = load(path)
    target = convert(data, TargetFile, path=path, text=text)
    if target.name != path.stem:
        raise wrong(path, text, ("name",), f"it is {target.name!r}; it must be that of the file, {path.stem!r}")
    if target.bare_metal:
        _check_memories(target, path, text)
    return {**data, **_driver(target, path, text)}


def _check_memories(target: TargetFile, path: Path, text: str) -> None:
    """Raises UsageError for memories that are half described, reach beyond 32 bits, or lie on each other."""
    flash, ram = (target.flash_origin, target.flash_bytes), (target.ram_origin, target.ram_bytes)
    if not flash[1] and not ram[1]:
        return  # code is compiled for it, and not linked to firmware
    for name, (origin, size) in (("flash", flash), ("ram", ram)):
        if not size:
            raise wrong(path, text, (f"{name}_bytes",), "it must be said too: a memory map has both flash and RAM")
        if origin + size > 1 << 32:
            message = f"{size} bytes from {origin:#x} reach beyond the addresses of 32 bits"
            raise wrong(path, text, (f"{name}_bytes",), message)
    if flash[0] < ram[0] + ram[1] and ram[0] < flash[0] + flash[1]:
        raise wrong(path, text, ("ram_origin",), "flash and RAM lie on each other")


def _driver(target: TargetFile, path: Path, text: str) -> dict[str, Any]:
    """The C code of a driver of the user's own: it is a part of what firmware is made of, as its text."""
    if target.uart_driver in ("", *UART_DRIVERS):
        return {}
    try:
        return {"uart_source": (path.parent / target.uart_driver).read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        valid = f"it must be {' or '.join(UART_DRIVERS)}, or a C file beside this one"
        raise wrong(
            path, text, ("uart_driver",), f"{target.uart_driver!r} cannot be read ({error}); {valid}"
        ) from error


def for_tools(target: Mapping[str, Any]) -> dict[str, Any]:
    """What compilers and keys of results get of a target's data."""
    return {key: value for key, value in target.items() if key not in FIGURES}
