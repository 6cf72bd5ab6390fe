"""Weights that an ONNX file keeps in files beside it: their names, found without onnx and without reading a weight.

The numbers of fields are those of ``onnx.proto``; what is no protobuf has no such files.
"""

from __future__ import annotations

import mmap
import os
import shutil
from typing import Dict, Iterator, List, Mapping, Tuple, Union

from bench_plugin.agent.adapter import InvalidModel

PREFIX = "external/"  # what such a file is called among those of a call
MODEL = "model.onnx"
KEY, VALUE, EXTERNAL = 1, 2, 13
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
# Which fields of a message hold messages that can lead to a tensor, and what they are.
LEADS = {
    "model": {7: "graph", 25: "function"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}  # fmt: skip

Field = Tuple[int, int, int]  # number, and where its bytes begin and end


def locations(path: str) -> List[str]:
    """Paths of the external files, relative to the folder of ``path``, each once. Raises OSError.

    Raises InvalidModel for one that leads out of that folder.
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
    """The file and those beside it, by their names in a call. Raises InvalidModel, OSError."""
    folder = os.path.dirname(path)
    return {MODEL: path, **{PREFIX + location: os.path.join(folder, location) for location in locations(path)}}


def artefact(path: str, folder: str) -> Dict[str, str]:
    """Copies of the file and of those beside it below ``folder``, as files of a reply."""
    files = {}
    for name, source in sources(path).items():
        files[name] = os.path.join(folder, name)
        os.makedirs(os.path.dirname(files[name]), exist_ok=True)
        shutil.copyfile(source, files[name])
    return files


def placed(files: Mapping[str, str], folder: str) -> str:
    """The path of ``model.onnx`` with its external files beside it, in a place below ``folder`` if need be."""
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
    """Hard, for onnxruntime does not follow a link that leads out of the model's folder; a copy on another disk."""
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
    """The length-delimited fields of a message; ends where the bytes are no message."""
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
    """A number and where it ends; None where it does not."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, None
