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
    return data


def for_tools(target: Mapping[str, Any]) -> dict[str, Any]:
    """What compilers and keys of results get of a target's data."""
    return {key: value for key, value in target.items() if key not in FIGURES}
