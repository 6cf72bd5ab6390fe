"""The kernel modules of an image, each after those that it needs: an update of the kernel may change their order."""

from __future__ import annotations

import lzma
import re
import stat
from collections.abc import Iterable, Iterator, Mapping

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.boards.linux.initramfs import Entry, text

FOLDER = "modules"
ORDER = f"{FOLDER}/order"  # the file that says in which order they are loaded
DEPENDS = re.compile(rb"(?:^|\0)depends=([^\0]*)\0")  # of the section .modinfo, which modinfo(8) prints


def is_module(path: str) -> bool:
    """Whether a file of the packages is a kernel module."""
    return "lib/modules/" in path and path.removesuffix(".xz").endswith(".ko")


def with_needed(packaged: Iterable[Entry], wanted: Iterable[str]) -> Iterator[Entry]:
    """The files of the ``wanted`` modules and of all that they need, inflated, and the order in which they are loaded.

    A wanted module that was not packaged is left out: it is a part of the kernel. Raises EnvironmentMissing where one
    that another needs is missing.
    """
    there = {_name(entry.path): entry for entry in packaged}
    found: dict[str, Entry] = {}
    for name in wanted:
        if _plain(name) in there:
            _take(_plain(name), there, found)
    yield from found.values()
    yield text(ORDER, "".join(f"/{entry.path}\n" for entry in found.values()))


def _take(name: str, there: Mapping[str, Entry], found: dict[str, Entry], needed_by: str = "") -> None:
    if name in found:
        return
    if name not in there:
        raise EnvironmentMissing(f"the packages have no kernel module {name}, which {needed_by} needs")
    file = there[name].path.rpartition("/")[2]
    # Compressed since Debian 13; the board's insmod does not inflate.
    data = lzma.decompress(there[name].data) if file.endswith(".xz") else there[name].data
    for other in _depends(data):
        _take(other, there, found, name)
    found[name] = Entry(f"{FOLDER}/{file.removesuffix('.xz')}", stat.S_IFREG | 0o644, data)


def _depends(data: bytes) -> list[str]:
    match = DEPENDS.search(data)
    return [_plain(name) for name in match[1].decode().split(",") if name] if match else []


def _name(path: str) -> str:
    return _plain(path.rpartition("/")[2].removesuffix(".xz").removesuffix(".ko"))


def _plain(name: str) -> str:
    """The name of a module as the kernel writes it: a file may have hyphens."""
    return name.replace("-", "_")
