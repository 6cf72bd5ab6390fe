"""The whole system of a board as one RAM file system (cpio, format newc), from a tar of unpacked Debian packages."""

from __future__ import annotations

import stat
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """A file, a folder or a symbolic link: ``path`` without a slash before it, ``mode`` as of stat(2).

    ``data`` is the content of a file, or the target of a link.
    """

    path: str
    mode: int
    data: bytes = b""


def folder(path: str, mode: int = 0o755) -> Entry:
    """A folder."""
    return Entry(path, stat.S_IFDIR | mode)


def text(path: str, content: str, mode: int = 0o644) -> Entry:
    """A text file in UTF-8."""
    return Entry(path, stat.S_IFREG | mode, content.encode())


def link(path: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(path, stat.S_IFLNK | 0o777, target.encode())


def read_tar(path: Path) -> Iterator[Entry]:
    """The entries of a tar. Hard links become copies. Raises tarfile.TarError, OSError."""
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.removeprefix("./").strip("/")
            if not name or name == ".":
                continue
            if member.isdir():
                yield Entry(name, stat.S_IFDIR | member.mode)
            elif member.issym():
                yield link(name, member.linkname)
            elif member.isreg() or member.islnk():
                content = archive.extractfile(member)
                yield Entry(name, stat.S_IFREG | member.mode, content.read() if content else b"")


def write(file: IO[bytes], entries: Iterable[Entry]) -> None:
    """Write the entries, each after its folders, as a cpio archive that the kernel unpacks; root owns them all."""
    known = {""}
    number = 0
    for entry in entries:
        for each in (*_folders_above(entry.path, known), entry):
            known.add(each.path)
            number += 1
            file.write(_header(each, number))
            file.write(_padded(each.data))
    file.write(_header(Entry(TRAILER, 0), 0))


def _folders_above(path: str, known: set[str]) -> list[Entry]:
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return [folder(one) for one in above if one not in known]


def _header(entry: Entry, number: int) -> bytes:
    name = entry.path.encode() + b"\0"
    user = group = modified = major = minor = 0
    device = (0, 0)
    fields = (number, entry.mode, user, group, 1, modified, len(entry.data), major, minor, *device, len(name), 0)
    return _padded(b"070701" + b"".join(b"%08X" % field for field in fields) + name)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
