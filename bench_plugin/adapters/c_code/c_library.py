"""Shared libraries of C code for this machine: by gcc, with zig's clang for types of C that older gccs lack.

Which compiler takes a file follows from its text alone, so that a result does not depend on the age of this machine's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.c import host, zig
from bench_plugin.agent.c.zig import CompilerFailed
from bench_plugin.agent.contract import Target
from bench_plugin.agent.toolkit import programs, versions

ADAPTER = {
    "name": "c_library",
    "kind": "tool",
    "toolchain": "emx",
    "title": "Shared libraries of C code",
    "distribution": "ziglang",
    "operations": [],
}

# gcc has _BitInt from version 14 on, and __bf16 on x86 from version 13 on.
LATE_TYPES = ("_BitInt(", "__bf16")
# Functions that clang calls to round to bfloat16 and that no library of gcc 12 has; both round to nearest even. Of a
# double's float the last bit is made odd where it is not exact, so that the second rounding cannot see a false tie.
TRUNCATIONS = """
__attribute__((visibility("hidden"))) __bf16 __truncsfbf2(float x) {
    union { float value; unsigned bits; } given = { x };
    union { unsigned short bits; __bf16 value; } made;
    if (x != x) made.bits = (given.bits >> 16) | 0x40;
    else made.bits = (given.bits + 0x7fff + (given.bits >> 16 & 1)) >> 16;
    return made.value;
}
__attribute__((visibility("hidden"))) __bf16 __truncdfbf2(double x) {
    union { float value; unsigned bits; } near = { (float)x };
    double back = near.value;
    if (back != x && x == x) {
        if ((back < 0 ? -back : back) > (x < 0 ? -x : x)) near.bits--;
        near.bits |= 1;
    }
    return __truncsfbf2(near.value);
}
"""


class Adapter:
    """Remembers nothing; adapters of compilers take the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ziglang")

    def reset(self) -> None:
        """Nothing to forget."""


class Library(NamedTuple):
    """A shared library: its path, and the versions of the C compilers that made it."""

    path: str
    c_compiler: str


def library(folder: str, source: str, flags: Sequence[str], libraries: Sequence[str], gcc: str) -> Library:
    """``model.so`` of the C file ``source`` in ``folder``, linked by ``gcc`` with ``libraries``.

    Raises CompilerFailed with the compiler's first error where the C is refused, Unsupported where gcc is so old that
    it has no _Float16, NotProvided where zig is needed and is not installed.
    """
    with open(os.path.join(folder, source), encoding="utf-8") as file:
        text = file.read()
    objects, compilers = [source], [host.version(gcc)]
    if any(late in text for late in LATE_TYPES):
        clang = zig.Zig(Target(architecture=os.uname().machine))
        objects = _objects(clang.path, folder, source, flags, "__bf16" in text)
        compilers = [clang.version, *compilers]
    made = os.path.join(folder, "model.so")
    _checked([gcc, *flags, "-w", "-fPIC", "-shared", *objects, "-o", made, *libraries], folder, "gcc")
    return Library(made, ", linked by ".join(compilers))


def _objects(clang: str, folder: str, source: str, flags: Sequence[str], rounds: bool) -> list[str]:
    """Object files of a C file by zig's clang, with those of the functions that it may call to round to bfloat16."""
    sources = [source]
    if rounds:
        sources.append("bfloat16.c")
        with open(os.path.join(folder, sources[-1]), "w", encoding="utf-8") as file:
            file.write(TRUNCATIONS)
    machine = ["-target", "%s-linux-gnu" % os.uname().machine, "-mcpu=baseline", "-fPIC"]
    kept = {"ZIG_GLOBAL_CACHE_DIR": os.path.join(folder, "zig-cache")}
    made = []
    for name in sources:
        made.append(os.path.splitext(name)[0] + ".o")
        argv = [clang, "cc", *machine, *zig.EXACT, *zig.PLAIN, *flags, "-c", name, "-o", made[-1]]
        _checked(argv, folder, "zig", kept)
    return made


def _checked(argv: Sequence[str], folder: str, name: str, variables: dict[str, str] | None = None) -> None:
    said = programs.run(argv, folder, variables)
    if said.status:
        message = next((line for line in said.text.splitlines() if "error:" in line), said.text.strip()[-500:])
        if "unknown type name '_Float16'" in message:
            raise Unsupported("%s does not take _Float16: %s" % (name, message))
        raise CompilerFailed("%s ended with status %d: %s" % (name, said.status, message))
