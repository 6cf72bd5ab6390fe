"""The store of an agent: one folder with adapters and blobs by content and the scratch folders of calls."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from typing import Set

from bench_plugin.agent.wire import Buffer

DIGEST = re.compile(r"[0-9a-f]{64}")
MIB = 1 << 20


class Refused(Exception):
    """A request for a path outside the folder, with content that does not have its digest, or beyond a quota."""


class Store:
    """Files below one folder; nothing is written outside it. ``most_bytes`` bounds what is stored; 0 for no bound.

    Raises Refused where the folder of stored content is a link.
    """

    def __init__(self, folder: str, most_bytes: int = 0) -> None:
        self.folder = os.path.realpath(folder)
        self._most = most_bytes
        self._own: Set[str] = set()  # what this process put or checked: it is not made room of
        self._stored = os.path.join(self.folder, "store")
        os.makedirs(self._stored, exist_ok=True)
        if os.path.islink(self._stored):
            raise Refused("%s is a link; expected a folder" % self._stored)

    def put(self, digest: str, data: Buffer, suffix: str = "") -> str:
        """Store ``data`` under its SHA-256 and return the path.

        Raises Refused where the two do not agree, or where there is no room for it.
        """
        path = self.path(digest, suffix)
        if hashlib.sha256(data).hexdigest() != digest:
            raise Refused("the content does not have the digest %s" % digest)
        self._make_room(len(data), path)
        partial = path + ".partial"
        try:
            self._write(partial, data)
            os.replace(partial, path)
        except OSError as error:
            _remove(partial)
            text = "%.1f MiB cannot be stored in %s: %s"
            raise Refused(text % (len(data) / MIB, self._stored, error.strerror or error)) from None
        self._own.add(os.path.basename(path))
        return path

    def path(self, digest: str, suffix: str = "") -> str:
        """The path for the content with this digest. Raises Refused for a text that is not a digest."""
        if not DIGEST.fullmatch(digest):
            raise Refused("%r is not a SHA-256 in hexadecimal" % digest)
        return os.path.join(self._stored, digest + suffix)

    def stored(self, digest: str) -> str:
        """The path of stored content. Raises Refused as :meth:`path` does, and where it is not stored."""
        path = self.path(digest)
        if not _is_file(path):
            raise Refused("the content with the digest %s was not put here" % digest)
        return path

    def holds(self, digest: str) -> bool:
        """Whether the content with this digest is stored, unchanged. Raises Refused as :meth:`path` does."""
        path = self.path(digest)
        if not _is_file(path):
            return False
        if digest in self._own:
            return True
        state = hashlib.sha256()
        with open(path, "rb") as file:
            for part in iter(lambda: file.read(MIB), b""):
                state.update(part)
        if state.hexdigest() != digest:
            return False
        os.utime(path)
        self._own.add(digest)
        return True

    def scratch(self) -> str:
        """An empty folder for one call; the files of the call before are removed."""
        folder = os.path.join(self.folder, "call")
        os.makedirs(folder, exist_ok=True)
        with os.scandir(folder) as found:  # the folder is used again: to remove thousands of them takes seconds
            entries = list(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        return folder

    def below(self, path: str) -> str:
        """The real path of a result file. Raises Refused when it is outside the folder or does not exist."""
        if "\0" in path:
            raise Refused("%r is not a path" % path)
        real = os.path.realpath(path if os.path.isabs(path) else os.path.join(self.folder, path))
        if not real.startswith(self.folder + os.sep):
            raise Refused("%s is outside of the agent's folder" % path)
        if not os.path.isfile(real):
            raise Refused("%s is not a file" % path)
        return real

    def _write(self, path: str, data: Buffer) -> None:
        """Write a new file, through no link. Raises OSError, for a full disk too."""
        _remove(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)

    def _make_room(self, size: int, path: str) -> None:
        """Remove the least recently used content of earlier connections until ``size`` bytes fit. Raises Refused."""
        if not self._most:
            return
        with os.scandir(self._stored) as found:
            rows = [
                (entry.name, entry.stat(follow_symlinks=False))
                for entry in found
                if entry.is_file(follow_symlinks=False)
            ]
        kept = [row for row in rows if row[0] != os.path.basename(path)]
        total = sum(one.st_size for _, one in kept) + size
        for name, one in sorted(kept, key=lambda row: row[1].st_mtime):
            if total <= self._most:
                return
            if name not in self._own:
                _remove(os.path.join(self._stored, name))
                total -= one.st_size
        if total > self._most:
            text = "%.1f MiB cannot be stored: hosts may store %.1f MiB here (--max-store)"
            raise Refused(text % (size / MIB, self._most / MIB))


def _is_file(path: str) -> bool:
    """Whether there is a regular file, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
