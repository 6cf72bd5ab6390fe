"""The C compiler of this machine, and what it can do."""

from __future__ import annotations

import os
import re
from typing import List, Tuple

from bench_plugin.agent.contract import Target
from bench_plugin.agent.toolkit import programs

# Libraries that decode images exactly as the reference, by emx's names, with their headers.
EXACT_DECODERS = {
    "libjpeg-turbo": ("jpeglib.h", "-ljpeg"),
    "libwebp": ("webp/decode.h", "-lwebp"),
    "libtiff": ("tiffio.h", "-ltiff"),
}


def c_compiler(target: Target) -> str:
    """The path of the target's compiler. Raises NotProvided where it is not installed."""
    name = target.gcc or "gcc"
    return programs.executable(name, target.package or "gcc", *(["cc"] if name == "gcc" else []))


def image_decoders(gcc: str, folder: str) -> Tuple[str, ...]:
    """emx's own decoder, behind those that it recommends for exact pixels where their libraries are installed."""
    found = []
    for name, (header, library) in EXACT_DECODERS.items():
        source, made = os.path.join(folder, "decoder.c"), os.path.join(folder, "decoder.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\n#include <%s>\n" % header)
        if not programs.run([gcc, "-shared", "-fPIC", source, "-o", made, library], folder).status:
            found.append(name)
    return (*found, "stb")


def half_flags(target: Target) -> List[str]:
    """32-bit Arm has two formats of half precision; without F16C x86 takes a call to convert each number."""
    if target.architecture == "arm":
        return ["-mfp16-format=ieee"]
    if target.is_local and os.uname().machine == "x86_64":
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return ["-mf16c"] if re.search(r"^flags\s*:.*\bf16c\b", file.read(), re.MULTILINE) else []
    return []


def version(gcc: str) -> str:
    """The first line of what the compiler says of its version."""
    return programs.run([gcc, "--version"]).text.partition("\n")[0]
