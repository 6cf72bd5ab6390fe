"""The store of an agent: one folder with adapters and blobs by content and the scratch folders of calls."""

from __future__ import annotations

import hashlib
import os
import re
import shutil

DIGEST = re.compile(r"[0-9a-f]{64}")


class Refused(Exception):
    """A request for a path outside the folder, or with content that does not have its digest."""


class Store:
    """Files below one folder; nothing is written outside it."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        os.makedirs(os.path.join(self.folder, "store"), exist_ok=True)

    def put(self, digest: str, data: bytes, suffix: str = "") -> str:
        """Store ``data`` under its SHA-256 and return the path. Raises Refused where the two do not agree."""
        path = self.path(digest, suffix)
        if hashlib.sha256(data).hexdigest() != digest:
            raise Refused("the content does not have the digest %s" % digest)
        partial = path + ".partial"
        with open(partial, "wb") as file:
            file.write(data)
        os.replace(partial, path)
        return path

    def path(self, digest: str, suffix: str = "") -> str:
        """The path for the content with this digest. Raises Refused for a text that is not a digest."""
        if not DIGEST.fullmatch(digest):
            raise Refused("%r is not a SHA-256 in hexadecimal" % digest)
        return os.path.join(self.folder, "store", digest + suffix)

    def has(self, digest: str) -> bool:
        """Whether the content with this digest is stored. Raises Refused as :meth:`path` does."""
        return os.path.exists(self.path(digest))

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
