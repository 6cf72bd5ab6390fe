"""What adapters, models and described compilers declare to depend on: ``files`` and variables of the environment."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

ABSENT = "absent"


def content_of(path: Path) -> str:
    """The SHA-256 of a file, 64 hex digits; ``absent`` for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ABSENT


def declared_files(folder: Path, patterns: Iterable[str]) -> dict[str, str]:
    """The content of the files that ``patterns`` name, relative to ``folder``: SHA-256 by path.

    A pattern may be a glob, and ``**`` stands for any folders; a folder stands for all files below it. A pattern that
    no file matches is itself ``absent``, so that a file that appears later is a change.
    """
    found: dict[str, str] = {}
    for pattern in patterns:
        paths = [folder / name for name in sorted(glob.glob(pattern, root_dir=folder, recursive=True))]
        files = [one for path in paths for one in ([path] if not path.is_dir() else sorted(path.rglob("*")))]
        found.update({os.path.relpath(one, folder): content_of(one) for one in files if one.is_file()})
        if not files:
            found[pattern] = ABSENT
    return found


def declared_variables(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str | None]:
    """The values of the variables; None for one that is not set."""
    return {name: environment.get(name) for name in names}
