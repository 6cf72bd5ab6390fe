"""The generated C code of a model: what its function takes, and how its arrays and weights are placed in a program."""

from __future__ import annotations

import re
from typing import Any, Collection, Dict, Iterator, List

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.c.glue import WIRE_TYPES
from bench_plugin.agent.wire import nbytes

TENSOR = re.compile(r"(const )?(.+?) (\w+)\[restrict ([^\]]+)\]((?:\[[^\]]+\])*)")
SIZE = re.compile(r"int (\w+)")
PRESENT = re.compile(r"_Bool (\w+)_present")  # behind an optional input's tensor: whether it is there
# A large array that a function declares without a first value: on the stack, where it cannot be counted.
LOCAL = re.compile(r"^( +)(?!static |return |extern |const )((?:\w+ )+\w+(?:\[\d+\])+;)$", re.MULTILINE)

# A weight whose values come from a file, and the functions that read them.
WEIGHT = re.compile(r"^(\w+) (\w+)((?:\[\d+\])+);$", re.MULTILINE)
LOADERS = r"^static _Bool %s_load_file\(FILE \*file\);$.*?(?=^void %s\()"
LINKED = """__asm__(".pushsection .rodata.%(name)s,\\"a\\"\\n.balign 16\\n.globl %(name)s\\n%(name)s:\\n"
        ".incbin \\"%(file)s\\", %(at)d, %(size)d\\n.popsection\\n");"""


def parameters(
    source: str, entry: str, inputs: Iterator[str], outputs: Iterator[str], known: Collection[str]
) -> List[Dict[str, Any]]:
    """What the function ``entry`` takes: sizes, inputs and outputs with their C types and dimensions.

    ``inputs`` and ``outputs`` are the names in the file, in its order; in C they have names of their own. ``known`` are
    the C types that can be handed over. Raises Unsupported for strings, sequences, optional and packed types, which C
    or the agents' protocol do not express, and ValueError for code that does not fit the names.
    """
    prototype = re.search(r"^void %s\((.*)\) \{$" % entry, source, re.MULTILINE)
    if prototype is None:
        raise ValueError("the generated C has no function %s" % entry)
    names = {"input": inputs, "output": outputs}
    found: List[Dict[str, Any]] = []
    last = ""
    for text in prototype[1].split(", "):
        size, tensor, present = SIZE.fullmatch(text), TENSOR.fullmatch(text), PRESENT.fullmatch(text)
        if present and present[1] == last:
            found.append({"kind": "present", "name": found[-1]["name"]})
        elif size:
            found.append({"kind": "size", "name": size[1]})
        elif tensor and tensor[2] in known:
            kind = "input" if tensor[1] else "output"
            dims = [tensor[4], *re.findall(r"\[([^\]]+)\]", tensor[5])]
            shape = [int(dim) if dim.isdecimal() else dim for dim in dims]
            found.append({"kind": kind, "name": next(names[kind]), "type": tensor[2], "shape": shape})
            last = tensor[3] if tensor[1] else ""
        elif text != "void":
            raise Unsupported("the C parameter %r cannot be handed over" % text)
    left = [name for rest in names.values() for name in rest]
    if left:
        raise ValueError("the C function has no parameter for %s" % ", ".join(left))
    return found


def with_static_arrays(source: str) -> str:
    """The same code with its functions' arrays in static memory, so that the program's file says what memory it needs.

    Only arrays of fixed sizes without first values are moved: each is written before it is read, as on the stack.
    """
    return LOCAL.sub(r"\1static \2", source)


def with_linked_weights(source: str, entry: str, file: str, size: int) -> str:
    """The same code with its large weights in constant memory, from a file of ``size`` bytes beside it.

    The code of ``entry`` as it is reads the file when it runs, into variables, in their order. Raises ValueError where
    the file does not have the size of these variables together.
    """
    at = 0

    def linked(found: "re.Match[str]") -> str:
        nonlocal at
        shape = [int(dim) for dim in re.findall(r"\d+", found[3])]
        begin, length = at, nbytes(WIRE_TYPES[found[1]], shape)
        at += length
        return LINKED % {"name": found[2], "file": file, "at": begin, "size": length}

    placed = WEIGHT.sub(linked, re.sub(LOADERS % (entry, entry), "", source, flags=re.MULTILINE | re.DOTALL))
    if at != size:
        raise ValueError("the weights of the C code have %d bytes, their file %d" % (at, size))
    return placed
