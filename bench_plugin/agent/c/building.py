"""From a model's C code to its program, ``program.elf``: the glue, the object, the link, and whether it fits."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.c import elf, firmware_parts, glue, zig
from bench_plugin.agent.contract import Target

PROGRAM = "program.elf"


class Model(NamedTuple):
    """A model in C.

    ``code`` is the name of its file in ``folder``, ``entry`` its function, ``parameters`` what that takes (glue.py),
    ``digest`` the SHA-256 of its code and weights.
    """

    folder: str
    code: str
    entry: str
    parameters: Sequence[Mapping[str, Any]]
    digest: str


class Built(NamedTuple):
    """What was made. ``file`` is its path; ``said`` tells of it in the reply's placement, ``switches`` how."""

    file: str
    said: Dict[str, object]
    switches: Dict[str, object]


def program(model: Model, target: Target, flags: Sequence[str]) -> Built:
    """The program of a model for a target; for bare metal without a memory map only the object.

    ``flags`` are those of the C compiler beside the exact ones. Raises NotProvided without zig, Unsupported for a
    model that needs more memory than the target has, or for types that do not travel; CompilerFailed.
    """
    compiler = zig.Zig(target)
    agent, own = zig.unpacked(model.folder)
    with open(os.path.join(model.folder, model.code), encoding="utf-8") as file:
        code = file.read()
    about = {"agent": own, "model": model.digest}
    with open(os.path.join(model.folder, "glue.c"), "w", encoding="utf-8") as file:
        file.write(glue.text(model.code, model.entry, model.parameters, model.digest, about))
    compiler.compiled("glue.c", "model.o", [*flags, "-I" + agent], model.folder)
    switches: Dict[str, object] = {
        "c_compiler": compiler.version, "flags": [*compiler.machine, *zig.EXACT, *flags], "temporaries": "static",
    }  # fmt: skip
    if target.bare_metal and not target.flash_bytes:
        return Built(os.path.join(model.folder, "model.o"), {}, switches)
    made = os.path.join(model.folder, PROGRAM)
    parts = firmware_parts.parts(target, agent, model.folder) if target.bare_metal else zig.Firmware((), "")
    compiler.linked(["model.o"], made, code, agent, model.folder, parts)
    sizes = elf.sizes(made)
    stack = firmware_parts.STACK_BYTES if target.bare_metal else 0
    check_size(elf.Sizes(sizes.flash, sizes.ram + stack), {"flash": target.flash_bytes, "ram": target.ram_bytes})
    return Built(made, {"flash_bytes": sizes.flash, "ram_bytes": sizes.ram}, switches)


def check_size(sizes: elf.Sizes, memories: Mapping[str, int]) -> None:
    """Check a program against the bytes of ``flash`` and ``ram`` that a target has, where they are known.

    Raises Unsupported, which says how much the program needs and how much there is.
    """
    wrong: List[str] = []
    for name, needed in (("flash", sizes.flash), ("ram", sizes.ram)):
        have = memories.get(name, 0)
        if 0 < have < needed:
            wrong.append("%s %s, board has %s" % (readable(needed), name, readable(have)))
    if wrong:
        raise Unsupported("needs %s" % "; ".join(wrong))


def readable(size: int) -> str:
    """Bytes as kB or MB of 1024 and 1024² bytes, as memories are sold; what is needed is never rounded down."""
    if size < 1 << 20:
        return "%d kB" % -(-size // 1024)
    tenths = -(-size * 10 // (1 << 20))
    return "%d MB" % (tenths // 10) if tenths % 10 == 0 else "%d.%d MB" % divmod(tenths, 10)
