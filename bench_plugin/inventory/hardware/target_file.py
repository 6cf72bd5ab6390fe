"""The file of a target, ``boards/targets/<name>.toml``: its keys, their types, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from bench_plugin.domain.records import Record, about, convert, load, wrong

Texts = tuple[str, ...]


class TargetFile(Record, frozen=True):
    """A machine that compilers compile for."""

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


def read_target(path: Path) -> dict[str, Any]:
    """A target as plain data, with the keys of its file.

    Raises UsageError, with the file and the line, for a file that cannot be read or is not valid.
    """
    text, data = load(path)
    target = convert(data, TargetFile, path=path, text=text)
    if target.name != path.stem:
        raise wrong(path, text, ("name",), f"it is {target.name!r}; it must be that of the file, {path.stem!r}")
    return data
