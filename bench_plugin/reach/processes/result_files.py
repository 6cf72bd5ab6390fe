"""The files of an agent's answer, taken out of the agent's own folder and from nowhere else."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
THROUGH = (errno.ENOTDIR, errno.ELOOP)
ABSENT = (errno.ENOENT, errno.EACCES, errno.ENAMETOOLONG)
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not stop the one who opens it


class NotTaken(Exception):
    """A path that an answer names is no file of the agent's own; the message says why."""


class TooLarge(Exception):
    """The files of an answer have more bytes together than the call may use; the message gives both."""


@dataclass
class _Found:
    """A file in the agent's folder: the descriptor of the folder that holds it, its name there, and what it is."""

    folder: int
    name: str
    status: os.stat_result


def take(paths: Mapping[str, str], folder: Path, results: Path, *, most_bytes: int) -> dict[str, Path]:
    """Move the files of an answer from the agent's ``folder``, which ends with the agent, to ``results``.

    ``paths`` gives the path of each file by name. No part of a path is followed out of the folder: a link is refused,
    and a file that has another name somewhere (a hard link) is copied, so that the other one stays as it is.
    ``most_bytes`` is the limit for all of them, 0 for none.
    Raises NotTaken and TooLarge before any file is moved, OSError where this machine cannot move or copy it.
    """
    results.mkdir(parents=True, exist_ok=True)
    found: dict[str, _Found] = {}
    try:
        for name, path in paths.items():
            found[name] = _find(path, folder)
        total = sum(one.status.st_size for one in found.values())
        if 0 < most_bytes < total:
            raise TooLarge(
                f"the answer's files have {total / 2**20:.0f} MiB, the limit is {most_bytes / 2**20:.0f} MiB"
            )
        return {name: _move(one, result_path(results, name), paths[name]) for name, one in found.items()}
    finally:
        for one in found.values():
            os.close(one.folder)


def result_path(results: Path, name: str) -> Path:
    """A path in ``results`` that no other file has."""
    return results / f"{os.urandom(8).hex()}-{PurePosixPath(name).name}"


def _find(path: str, folder: Path) -> _Found:
    """The file at a path, reached from the folder step by step without following links. Raises NotTaken."""
    try:
        parts = PurePosixPath(path).relative_to(os.path.realpath(folder)).parts
    except ValueError:
        raise NotTaken(f"{path} is outside of the agent's folder {folder}") from None
    if not parts or ".." in parts:
        raise NotTaken(f"{path} is outside of the agent's folder {folder}")
    place = os.open(os.path.realpath(folder), FOLDER)
    try:
        for part in parts[:-1]:
            below = os.open(part, FOLDER, dir_fd=place)
            os.close(place)
            place = below
        status = os.stat(parts[-1], dir_fd=place, follow_symlinks=False)
    except OSError as error:
        os.close(place)
        if error.errno in THROUGH:
            raise NotTaken(f"{path} leads through a link or a file, not through folders") from None
        if error.errno in ABSENT:
            raise NotTaken(f"{path} cannot be found: {error.strerror}") from None
        raise
    if not stat.S_ISREG(status.st_mode):
        os.close(place)
        raise NotTaken(f"{path} is a link or a device, not a file")
    return _Found(place, parts[-1], status)


def _move(found: _Found, target: Path, path: str) -> Path:
    """Move a file, or copy it where it has other names. Raises NotTaken where another one lies there by now."""
    if found.status.st_nlink == 1:
        try:
            os.rename(found.name, target, src_dir_fd=found.folder)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        else:
            now = os.lstat(target)
            if (now.st_dev, now.st_ino, now.st_nlink) == (found.status.st_dev, found.status.st_ino, 1):
                return target
            target.unlink()
            raise NotTaken(f"{path} changed while it was taken")
    try:
        source = os.open(found.name, READ, dir_fd=found.folder)
    except PermissionError:
        raise NotTaken(f"{path} cannot be read: permission denied") from None
    with os.fdopen(source, "rb") as file:
        now = os.fstat(source)
        if (now.st_dev, now.st_ino) != (found.status.st_dev, found.status.st_ino):
            raise NotTaken(f"{path} changed while it was taken")
        with target.open("xb") as copy:
            shutil.copyfileobj(file, copy)
    return target
