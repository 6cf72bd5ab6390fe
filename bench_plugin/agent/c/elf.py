"""Sizes of a program, read from the program headers of its ELF file (ELF specification, "Program Header")."""

from __future__ import annotations

import struct
from typing import NamedTuple

LOADED = 1  # p_type PT_LOAD
WRITABLE = 2  # p_flags PF_W


class Sizes(NamedTuple):
    """Bytes of a program.

    flash: what is stored: code, constants, and the first values of variables.
    ram: what is written to: variables with and without first values.
    """

    flash: int
    ram: int


def sizes(path: str) -> Sizes:
    """The sizes of the program in an ELF file. Raises OSError, and ValueError for a file that is none."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x7fELF" or len(data) < 64:
        raise ValueError("%s is no ELF file" % path)
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    offset, size, count = (
        struct.unpack_from(order + layout, data, place)[0]
        for layout, place in ((("Q", 32), ("H", 54), ("H", 56)) if wide else (("I", 28), ("H", 42), ("H", 44)))
    )
    flash = ram = 0
    for index in range(count):
        at = offset + index * size
        if wide:
            kind, flags, _, _, _, stored, held = struct.unpack_from(order + "IIQQQQQ", data, at)
        else:
            kind, _, _, _, stored, held, flags = struct.unpack_from(order + "IIIIIII", data, at)
        if kind == LOADED:
            flash += stored
            ram += held if flags & WRITABLE else 0
    return Sizes(flash, ram)
