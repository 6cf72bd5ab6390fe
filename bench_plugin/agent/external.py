"""External weights of an ONNX file, in files beside it: their names, found without onnx and without reading weights.

The numbers of fields are those of ``onnx.proto``. A file that is not a protobuf message has no external weights.
"""

from __future__ import annotations

import mmap
import os
import shutil
from typing import Dict, Iterator, List, Mapping, Tuple, Union

from bench_plugin.agent.adapter import InvalidModel

PREFIX = "external/"  # the prefix of the names of such files in a call
MODEL = "model.onnx"
KEY, VALUE, EXTERNAL = 1, 2, 13
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
# The fields of each message that contain messages which can lead to a tensor, with the types of these.
LEADS = {
    "model": {7: "graph", 25: "function"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}  # fmt: skip

Field = Tuple[int, int, int]  # the number of a field, and the places where its bytes begin and end


def locations(path: str) -> List[str]:
    """Paths of the external files, relative to the folder of ``path``, each once.

    Raises OSError for a file that cannot be read, InvalidModel for a path that leads out of that folder.
    """
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return []
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = sorted(set(_locations(data, 0, len(data), "model")))
    for location in found:
        if not location or os.path.isabs(location) or ".." in location.split("/"):
            raise InvalidModel("a weight lies in external file %r, which is not below the model's folder" % location)
    return found


def sources(path: str) -> Dict[str, str]:
    """The file and its external files, by their names in a call. Raises as :func:`locations` does."""
    folder = os.path.dirname(path)
    return {MODEL: path, **{PREFIX + location: os.path.join(folder, location) for location in locations(path)}}


def artefact(path: str, folder: str) -> Dict[str, str]:
    """Copies of the file and its external files below ``folder``, for a reply. Raises as :func:`locations` does."""
    files = {}
    for name, source in sources(path).items():
        files[name] = os.path.join(folder, name)
        os.makedirs(os.path.dirname(files[name]), exist_ok=True)
        shutil.copyfile(source, files[name])
    return files


def copied(path: str, folder: str) -> str:
    """A copy of the file in ``folder``, for a tool that writes to it or beside it, with its external files beside it.

    Returns its path. Raises as :func:`locations` does, and OSError for an external file that is not there.
    """
    for location in locations(path):
        target = os.path.join(folder, location)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(os.path.dirname(path), location), target)
    return str(shutil.copyfile(path, os.path.join(folder, MODEL)))


def placed(files: Mapping[str, str], folder: str) -> str:
    """The path of ``model.onnx`` with its external files beside it; they are put below ``folder`` where needed."""
    beside = {name[len(PREFIX) :]: path for name, path in files.items() if name.startswith(PREFIX)}
    if not beside:
        return files[MODEL]
    whole = os.path.join(folder, "placed")
    for location, path in beside.items():
        target = os.path.join(whole, location)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _linked(path, target)
    return str(shutil.copyfile(files[MODEL], os.path.join(whole, MODEL)))


def _linked(path: str, target: str) -> None:
    """Make a hard link, because onnxruntime follows no symbolic link out of the model's folder; else a copy."""
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)


def _locations(data: mmap.mmap, start: int, end: int, kind: str) -> Iterator[str]:
    leads = LEADS.get(kind, {})
    for number, begin, stop in _fields(data, start, end):
        if number in leads:
            yield from _locations(data, begin, stop, leads[number])
        elif kind == "tensor" and number == EXTERNAL:
            entry = {n: data[a:b].decode("utf-8", "replace") for n, a, b in _fields(data, begin, stop)}
            if entry.get(KEY) == "location":
                yield entry.get(VALUE, "")


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[Field]:
    """The length-delimited fields of a protobuf message; ends at bytes that are not a field."""
    at: Union[int, None] = start
    while at is not None and at < end:
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if at is None:
            return
        if kind == BYTES:
            size, at = _varint(data, at, end)
            if at is None or at + size > end:
                return
            yield tag >> 3, at, at + size
            at += size
        elif kind == VARINT:
            _, at = _varint(data, at, end)
        elif kind in (FIXED32, FIXED64):
            at += 4 if kind == FIXED32 else 8
        else:
            return


def _varint(data: mmap.mmap, at: int, end: int) -> Tuple[int, Union[int, None]]:
    """A variable-length number (protobuf) and its end; None in place of one that does not end."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, None
