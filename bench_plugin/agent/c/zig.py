"""Programs by zig's C compiler: a model's C code and the C agent, for any target, with nothing from the system.

There is no C library in a program. What code of models calls of <math.h> comes from three places, which hold the same
functions for every target: zig's compiler runtime, musl's C sources in zig's package, and libm.zig for the rest.
"""

from __future__ import annotations

import importlib.util
import os
import re
from typing import Collection, Dict, List, NamedTuple, Sequence, Set, Tuple

from bench_plugin.agent.adapter import NotProvided, Unsupported
from bench_plugin.agent.c import sources
from bench_plugin.agent.contract import Target
from bench_plugin.agent.toolkit import programs

# By architecture: zig's name of it with an operating system and without, and that of its folders in zig's package.
ARCHITECTURES = {
    "aarch64": ("aarch64", "aarch64", "aarch64"), "arm": ("arm", "thumb", "arm"),
    "riscv64": ("riscv64", "riscv64", "riscv64"), "x86_64": ("x86_64", "x86_64", "x86_64"),
}  # fmt: skip
# Every operation rounds by itself, as IEEE 754 says: nothing is contracted, reordered or assumed of NaN.
EXACT = ("-ffp-contract=off", "-fno-fast-math")
PLAIN = ("-fno-sanitize=all", "-fno-stack-protector", "-ffunction-sections", "-fdata-sections", "-g0", "-w")
LINUX = ("core.c", "posix.c", "linux.c")
BARE = ("core.c",)
WORD = re.compile(r"\w+")
# What musl's sources call by another name than that of the file; and those that ask for rounding modes, which the
# compiler runtime has without.
MUSL_FILES = {
    "erfc": "erf",
    "erfcf": "erff",
    "__signgam": "signgam",
    "__lgamma_r": "lgamma_r",
    "__lgammaf_r": "lgammaf_r",
}
MUSL_LEFT_OUT = {"fma", "fmaf"}
MUSL_MACROS = ("-Dhidden=", "-Dweak_alias(old,new)=extern __typeof(old) new __attribute__((__weak__,__alias__(#old)))")
EXPORTED = re.compile(r"^export fn (\w+)", re.MULTILINE)


class CompilerFailed(Exception):
    """The C compiler refused the generated code."""


class Firmware(NamedTuple):
    """What makes firmware for a microcontroller of the C agent: C files and a linker script, by their paths."""

    files: Sequence[str]
    script: str


class Zig:
    """zig's C compiler for a target. Raises NotProvided where it is not installed, Unsupported for a strange target."""

    def __init__(self, target: Target) -> None:
        spec = importlib.util.find_spec("ziglang")
        if spec is None or not spec.submodule_search_locations:
            raise NotProvided("zig's C compiler is missing; the toolchain must have the package ziglang")
        if target.architecture not in ARCHITECTURES:
            raise Unsupported("no program can be made for architecture %r" % target.architecture)
        package = next(iter(spec.submodule_search_locations))
        self.path = os.path.join(package, "zig")
        self._lib = os.path.join(package, "lib")
        hosted, bare, self._arch = ARCHITECTURES[target.architecture]
        abi = "none" if target.architecture != "arm" else "eabihf" if target.abi == "hard" else "eabi"
        self.target = "%s-freestanding-%s" % (bare if target.bare_metal else hosted, abi)
        features = (one[:1] + one[1:].replace("-", "_").replace(".", "_") for one in target.features)  # zig's names
        self.cpu = target.cpu.replace("-", "_") + "".join(features)

    @property
    def version(self) -> str:
        """The version of zig."""
        return "zig cc %s" % programs.run([self.path, "version"]).text.strip()

    @property
    def machine(self) -> List[str]:
        """The flags that name the machine."""
        return ["-target", self.target, *(["-mcpu=%s" % self.cpu] if self.cpu else [])]

    def compiled(self, source: str, made: str, flags: Sequence[str], folder: str) -> None:
        """Compile a C file of ``folder`` to an object file there. Raises CompilerFailed where it is refused.

        zig keeps what it made of a file; what it makes of a model nobody asks for again, so that goes with the folder.
        """
        where = {"ZIG_GLOBAL_CACHE_DIR": os.path.join(folder, "zig-cache")}
        argv = [self.path, "cc", *self.machine, *EXACT, *PLAIN, *self._headers(), *flags, "-c", source, "-o", made]
        _checked(argv, folder, where)

    def linked(self, objects: Sequence[str], made: str, text: str, agent: str, folder: str, firmware: Firmware) -> None:
        """Link objects with the C agent, whose sources are in ``agent``, to a program in ``folder``.

        ``text`` is the C code that it was made of: the functions of <math.h> that it names are linked in. ``firmware``
        is what a microcontroller needs in place of Linux. Raises CompilerFailed where that fails.
        """
        where = {"ZIG_LOCAL_CACHE_DIR": os.path.join(folder, "zig-cache")}
        libm = os.path.join(folder, "libm.o")
        cpu = ["-mcpu=%s" % self.cpu] if self.cpu else []
        small = "ReleaseSmall" if firmware.script else "ReleaseFast"
        argv = [self.path, "build-obj", "-target", self.target, *cpu, "-O", small, "-femit-bin=" + libm]
        _checked([*argv, os.path.join(agent, "libm.zig")], folder, where)
        own = [os.path.join(agent, name) for name in (BARE if firmware.script else LINUX)]
        script = ["-Wl,-T," + firmware.script] if firmware.script else []
        argv = [
            self.path, "cc", *self.machine, *EXACT, *PLAIN, "-O2", "-std=gnu99", "-D_GNU_SOURCE", *self._headers(),
            "-I" + agent, *self._of_musl(), "-Wl,--gc-sections", "-s", *script, *own, *firmware.files,
            *self._mathematics(text, agent), *objects, libm, "-o", made,
        ]  # fmt: skip
        _checked(argv, folder, where)

    def _headers(self) -> List[str]:
        include = os.path.join(self._lib, "libc", "include")
        folders = [self._arch + "-linux-musl", "generic-musl"]
        paths = [os.path.join(self._lib, "include"), *(os.path.join(include, name) for name in folders)]
        return ["-nostdinc", *("-isystem" + path for path in paths)]

    def _of_musl(self) -> List[str]:
        """The flags that musl's own sources need."""
        musl = os.path.join(self._lib, "libc", "musl")
        folders = (os.path.join("src", "internal"), os.path.join("arch", self._arch), os.path.join("arch", "generic"))
        return [*MUSL_MACROS, *("-I" + os.path.join(musl, name) for name in folders)]

    def _mathematics(self, text: str, agent: str) -> List[str]:
        """musl's sources of the functions of <math.h> that a text names, and of all that those name."""
        folder = os.path.join(self._lib, "libc", "musl", "src", "math")
        with open(os.path.join(agent, "libm.zig"), encoding="utf-8") as file:
            ours = MUSL_LEFT_OUT | set(EXPORTED.findall(file.read()))
        names = [name[:-2] for name in sorted(os.listdir(folder)) if name.endswith(".c")]
        files = {name: os.path.join(folder, name + ".c") for name in names if name not in ours}
        needed: Set[str] = set()
        asked = _named(text, files)
        while asked:
            name = asked.pop()
            needed.add(name)
            with open(files[name], encoding="utf-8") as file:
                asked |= _named(file.read(), files) - needed
        return [files[name] for name in sorted(needed)]


def _named(text: str, files: Collection[str]) -> Set[str]:
    """Those of musl's ``files`` whose functions a C text names."""
    return {MUSL_FILES.get(word, word) for word in WORD.findall(text)} & set(files)


def _checked(argv: Sequence[str], folder: str, variables: Dict[str, str]) -> None:
    said = programs.run(argv, folder, variables)
    if said.status:
        message = next((line for line in said.text.splitlines() if "error:" in line), said.text.strip()[-500:])
        raise CompilerFailed("zig ended with status %d: %s" % (said.status, message))


def unpacked(folder: str) -> Tuple[str, str]:
    """The sources of the C agent in a new folder below ``folder``, and their SHA-256 in hexadecimal."""
    return sources.written(os.path.join(folder, "agent")), sources.digest()
