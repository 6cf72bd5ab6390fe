"""The agent's own folder: adapters and blobs by content, scratch folders of calls. Nothing is written outside of it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil

DIGEST = re.compile(r"[0-9a-f]{64}")


class Refused(Exception):
    """A request that would leave the folder, or whose content is not what it is called."""


class Store:
    """Files below one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        os.makedirs(os.path.join(self.folder, "store"), exist_ok=True)

    def put(self, digest: str, data: bytes, suffix: str = "") -> str:
        """Keep ``data`` under its SHA-256; returns the path. Raises Refused where they differ."""
        path = self.path(digest, suffix)
        if hashlib.sha256(data).hexdigest() != digest:
            raise Refused("the content does not have the digest %s" % digest)
        partial = path + ".partial"
        with open(partial, "wb") as file:
            file.write(data)
        os.replace(partial, path)
        return path

    def path(self, digest: str, suffix: str = "") -> str:
        """Where the content of this digest is, or will be."""
        if not DIGEST.fullmatch(digest):
            raise Refused("%r is not a SHA-256 in hexadecimal" % digest)
        return os.path.join(self.folder, "store", digest + suffix)

    def has(self, digest: str) -> bool:
        """Whether the content is here."""
        return os.path.exists(self.path(digest))

    def scratch(self) -> str:
        """An empty folder for one call; what the call before left there is gone."""
        folder = os.path.join(self.folder, "call")
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):  # one that is empty is used again: thousands of folders take seconds to remove
            shutil.rmtree(folder)
            os.makedirs(folder)
        return folder

    def below(self, path: str) -> str:
        """The real path of a result file. Raises Refused when it is outside of the folder or absent."""
        real = os.path.realpath(path if os.path.isabs(path) else os.path.join(self.folder, path))
        if not real.startswith(self.folder + os.sep):
            raise Refused("%s is outside of the agent's folder" % path)
        if not os.path.isfile(real):
            raise Refused("%s is not a file" % path)
        return real
