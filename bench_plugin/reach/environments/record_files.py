"""RECORD: the list of files that an installer leaves for every distribution, with their sizes and hashes."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

UNPACKING = 60 * 10**9  # nanoseconds that the unpacking of one distribution may take; what is later is read


@dataclass(frozen=True)
class Recorded:
    """A file of a distribution: its absolute path, and its SHA-256 (as RECORD writes it) and size in bytes.

    ``digest`` is empty and ``size`` is -1 where RECORD does not say them, as for RECORD itself. ``unpacked`` is when
    the last file of the distribution was written, in nanoseconds of st_mtime_ns.
    """

    path: str
    digest: str
    size: int
    unpacked: int

    def problem(self, *, contents: bool) -> str:
        """What is wrong with the file, such as ``is missing`` or ``has changed``; empty if nothing is.

        Without ``contents`` the hash is computed only for a file that was written later than the distribution.
        """
        try:
            found = os.stat(self.path)
            if self.size >= 0 and found.st_size != self.size:
                return f"has {found.st_size} bytes instead of {self.size}"
            read = self.digest and (contents or found.st_mtime_ns > self.unpacked)
            if read and sha256_of(self.path) != self.digest:
                return "has changed"
        except OSError:
            return "is missing"
        return ""


def recorded_files(site: Path) -> Iterator[tuple[Path, list[Recorded]]]:
    """The RECORD of every distribution in a folder of packages, with the files that it lists (compiled ones left out).

    A RECORD that cannot be read or parsed lists nothing.
    """
    for record in sorted(site.glob("*.dist-info/RECORD")):
        try:
            with record.open(encoding="utf-8", newline="") as file:
                rows = [row for row in csv.reader(file) if len(row) == 3 and not row[0].endswith(".pyc")]
        except (OSError, UnicodeDecodeError, csv.Error):
            rows = []
        unpacked = _unpacked(record)
        yield record, [_recorded(str(site), unpacked, *row) for row in rows]


def sha256_of(path: str) -> str:
    """The SHA-256 of a file as RECORD writes it: base64 for URLs, without padding. Raises OSError."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _unpacked(record: Path) -> int:
    """When a distribution was complete: pip writes RECORD last, uv unpacks WHEEL long before, into its cache."""
    wheel = record.with_name("WHEEL")
    installed = record.stat().st_mtime_ns
    return min(installed, wheel.stat().st_mtime_ns + UNPACKING) if wheel.is_file() else installed


def _recorded(site: str, unpacked: int, name: str, digest: str, size: str) -> Recorded:
    kind, _, value = digest.partition("=")
    path = os.path.normpath(os.path.join(site, name))
    return Recorded(path, value if kind == "sha256" else "", int(size) if size.isdecimal() else -1, unpacked)
