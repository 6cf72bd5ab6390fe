"""Values of emx's C functions that are no plain tensors: strings, sequences, and optional values.

A string is an array of characters that ends with a zero. A sequence is an array of elements, each in the room of the
largest, with the number of elements behind it, and with the sizes of each dimension that differs between elements. An
optional value has a flag behind it. Lengths are the constants that the C itself defines.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "emx_values",
    "kind": "tool",
    "toolchain": "emx",
    "title": "Strings, sequences and optional values in the C of emx",
    "distribution": "emx-onnx-cgen",
    "operations": [],
}

STRING, SEQUENCE = "EMX_STRING_MAX_LEN", "EMX_SEQUENCE_MAX_LEN"
LENGTH = r"^#define %s (\d+)$"
ARRAY = re.compile(r"(const )?(.+?) (\w+)\[(?:restrict )?([^\]]+)\]((?:\[[^\]]+\])*)")
PART = re.compile(r"(?:const )?(?:idx_t|_Bool) \*?(\w+?)(?:__(count|dim_\d+)|_(present))(?:\[%s\])?" % SEQUENCE)
CHARACTER = "char"


class Adapter:
    """Remembers nothing; emx's adapter takes the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("emx-onnx-cgen")

    def reset(self) -> None:
        """Nothing to forget."""


def parameters(
    source: str, entry: str, inputs: Iterator[str], outputs: Iterator[str], known: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What the function ``entry`` takes: a row for each value.

    A row has ``kind`` (input or output), ``name`` (that in the file, of ``inputs`` or ``outputs`` in their order),
    ``type`` (C's), ``shape`` (of the largest element), ``characters`` (of a string, else 0), ``elements`` (of a
    sequence, else 0) and ``parts`` (what follows it in C: count, dim_0 ..., present). ``known`` are C's types of
    numbers. Raises Unsupported for any other parameter, and ValueError for code that does not fit the names.
    """
    prototype = re.search(r"^void %s\((.*)\) \{$" % entry, source, re.MULTILINE)
    if prototype is None:
        raise ValueError("the generated C has no function %s" % entry)
    names = {"input": inputs, "output": outputs}
    found: list[dict[str, Any]] = []
    last = ""
    for text in prototype[1].split(", "):
        array, part = ARRAY.fullmatch(text), PART.fullmatch(text)
        if part is not None and part[1] == last:
            found[-1]["parts"].append(part[2] or part[3])
        elif array is not None and (array[2] in known or array[2] == CHARACTER):
            kind = "input" if array[1] else "output"
            row = _row(source, array)
            found.append({"kind": kind, "name": next(names[kind]), **row})
            last = array[3]
        elif text != "void":
            raise Unsupported("the C parameter %r cannot be handed over" % text)
    left = [name for rest in names.values() for name in rest]
    if left:
        raise ValueError("the C function has no parameter for %s" % ", ".join(left))
    return found


def _row(source: str, array: re.Match[str]) -> dict[str, Any]:
    """The fields of a row that its C declaration says."""
    dims = [array[4], *re.findall(r"\[([^\]]+)\]", array[5])]
    elements = _length(source, SEQUENCE) if dims[0] == SEQUENCE else 0
    characters = _length(source, STRING) if dims[-1] == STRING else 0
    shape = dims[bool(elements) : len(dims) - bool(characters)]
    if bool(characters) != (array[2] == CHARACTER) or not all(dim.isdecimal() for dim in shape):
        raise Unsupported("the C parameter %r cannot be handed over" % array[0])
    sizes = [int(dim) for dim in shape]
    return {"type": array[2], "shape": sizes, "characters": characters, "elements": elements, "parts": []}


def _length(source: str, name: str) -> int:
    """The constant of the C. Raises ValueError where it defines none."""
    found = re.search(LENGTH % name, source, re.MULTILINE)
    if found is None:
        raise ValueError("the generated C does not define %s" % name)
    return int(found[1])


def called(
    function: Any,
    rows: Sequence[Mapping[str, Any]],
    given: Mapping[str, Any],
    declared: Sequence[Any],
    known: Mapping[str, str],
) -> list[Any]:
    """The outputs of one call: arrays [...], of strings as objects; lists for sequences; None for what is absent.

    ``rows`` are those of :func:`parameters`, ``given`` the inputs by name, ``declared`` the shapes of the outputs as
    the model has them, ``known`` numpy's names of C's types. Raises Unsupported for a value that its C has no room for,
    ValueError for another shape than it was compiled for, and for a count of elements that is none.
    """
    arguments: list[Any] = []
    readers: list[Callable[[], Any]] = []
    held = []  # C reads and writes this memory
    for row in rows:
        if row["kind"] == "input":
            room, passed = _filled(row, given[row["name"]], known)
            arguments += passed
            held.append(room)
        else:
            passed, reader = _empty(row, declared[len(readers)], known)
            arguments += passed
            readers.append(reader)
    function.restype = None
    function(*arguments)
    return [reader() for reader in readers]


def _kind(row: Mapping[str, Any], known: Mapping[str, str]) -> Any:
    """numpy's type of one number or of one string."""
    import numpy as np

    return np.dtype("S%d" % row["characters"] if row["characters"] else known[row["type"]])


def _filled(row: Mapping[str, Any], value: Any, known: Mapping[str, str]) -> tuple[Any, list[Any]]:
    """The memory with an input, and the arguments of its parameter and of what follows that."""
    import numpy as np

    elements = [] if value is None else value if row["elements"] else [value]
    room = np.zeros([row["elements"] or 1, *row["shape"]], _kind(row, known))
    sizes = np.zeros([len(row["shape"]), len(room)], np.int32)
    if len(elements) > len(room):
        raise Unsupported("%s has %d elements, emx's C has room for %d" % (row["name"], len(elements), len(room)))
    for number, element in enumerate(elements):
        x = np.reshape(_coded(row, element), np.shape(element) or (1,))
        _check(row, x.shape)
        room[_place(number, x.shape)] = x
        sizes[:, number] = x.shape
    said = {"count": ctypes.c_int32(len(elements)), "present": ctypes.c_bool(value is not None)}
    passed: list[Any] = [ctypes.c_void_p(room.ctypes.data)]
    for part in row["parts"]:
        axis = part.rpartition("_")[2]
        passed.append(ctypes.c_void_p(sizes[int(axis)].ctypes.data) if axis.isdecimal() else said[part])
    return (room, sizes), passed


def _place(number: int, shape: Iterable[int]) -> Any:
    """Where an element of this shape is in the room of all."""
    return (number, *(slice(0, size) for size in shape))


def _coded(row: Mapping[str, Any], element: Any) -> Any:
    """Numbers as they are; strings in UTF-8. Raises Unsupported for strings that its C has no room for."""
    import numpy as np

    if not row["characters"]:
        return element
    texts = [str(text).encode("utf-8") for text in np.reshape(element, -1).tolist()]
    longest = max(map(len, texts), default=0)
    if longest >= row["characters"]:
        told = (row["name"], longest, row["characters"] - 1)
        raise Unsupported("%s has a string of %d bytes, emx's C has room for %d" % told)
    return np.array(texts, "S%d" % row["characters"])


def _check(row: Mapping[str, Any], shape: tuple[int, ...]) -> None:
    """Raises ValueError for a shape that the C function was not compiled for.

    Scalars and empty tensors have a dimension of 1 in C. A dimension whose sizes are passed may be smaller.
    """
    fixed = [("dim_%d" % axis) not in row["parts"] for axis in range(len(shape))]
    right = len(shape) == len(row["shape"]) and all(
        got == size or got == 0 or (not one and got < size) for got, size, one in zip(shape, row["shape"], fixed)
    )
    if not right:
        told = (row["name"], list(shape), row["shape"])
        raise ValueError("input %s has the shape %s, it was compiled for %s" % told)


def _empty(
    row: Mapping[str, Any], declared: Sequence[Any], known: Mapping[str, str]
) -> tuple[list[Any], Callable[[], Any]]:
    """The arguments of an output's parameter and of what follows that, and what reads the output after the call."""
    import numpy as np

    kind, whole = _kind(row, known), [row["elements"] or 1, *row["shape"]]
    # What it does not write reads as NaN, -1 or no text, not as a zero that may happen to be right.
    block = np.full(int(np.prod(whole)) * kind.itemsize, 255, np.uint8)
    sizes = np.full([len(row["shape"]), whole[0]], -1, np.int32)
    count, present = ctypes.c_int32(-1), ctypes.c_bool(True)
    passed: list[Any] = [ctypes.c_void_p(block.ctypes.data)]
    said: dict[str, Any] = {"count": count, "present": present}
    axes = []
    for part in row["parts"]:
        axis = part.rpartition("_")[2]
        if axis.isdecimal():
            axes.append(int(axis))
            passed.append(ctypes.c_void_p(sizes[int(axis)].ctypes.data))
        else:
            passed.append(ctypes.byref(said[part]))

    def element(number: int) -> Any:
        shape = [int(sizes[axis, number]) if axis in axes else size for axis, size in enumerate(row["shape"])]
        if not all(0 <= size <= most for size, most in zip(shape, row["shape"])):
            raise ValueError("element %d of %s has the sizes %s" % (number, row["name"], shape))
        numbers = block.astype(bool) if kind == np.dtype(bool) else block.view(kind)
        return _decoded(numbers.reshape(whole)[_place(number, shape)])

    def read() -> Any:
        if not present.value:
            return None
        if row["elements"]:
            if not 0 <= count.value <= row["elements"]:
                raise ValueError("%s has %d elements, its room %d" % (row["name"], count.value, row["elements"]))
            return [element(number) for number in range(count.value)]
        y = element(0)
        known_shape = all(isinstance(dim, int) for dim in declared)
        if known_shape and 0 in declared:
            return y.reshape(-1)[:0].reshape(declared)
        return y.reshape(declared) if known_shape and int(np.prod(declared)) == y.size else y

    return passed, read


def _decoded(values: Any) -> Any:
    """A copy of the numbers; strings up to their zero, as objects."""
    import numpy as np

    if values.dtype.kind != "S":
        return values.copy()
    texts = np.empty(values.size, dtype=object)
    texts[:] = [one.split(b"\0")[0].decode("utf-8", "replace") for one in values.reshape(-1).tolist()]
    return texts.reshape(values.shape)
