"""Runs on the board: makes room in the folder of files that hosts sent, so that it keeps its bound.

A script for Python 3.8 or later with the standard library only, given by the standard input of ``python -I -``. What an
agent at work uses is locked (``tether.py``) and stays; of the rest the least recently used goes first. What killed
agents and broken transfers left behind goes with it.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import stat
import sys
import time

SENT = re.compile(r"[0-9a-f]{64}(\.pyz?)?")  # a file or an environment, by content
HALF_SENT = re.compile(r"[0-9a-f]{64}(\.pyz?)?\.\d+")
FOLDER_OF_AGENT = re.compile(r"run-[0-9a-f]+")
JUST_USED_SECONDS = 60.0  # another host that has found it there is about to start an agent
TRANSFER_SECONDS = 3600.0  # after which no host sends any more
MIB = 1 << 20


def main() -> int:
    """0 where the bytes fit now; else 1, and the last line says why not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", required=True, help="the folder")
    parser.add_argument("--bytes", type=int, required=True, help="to be sent")
    parser.add_argument("--most", type=int, required=True, help="bytes that may lie there")
    parser.add_argument("--keep", nargs="*", default=[], help="names that stay")
    options = parser.parse_args()
    now = time.time()
    found = []
    for name in os.listdir(options.cache):
        path = os.path.join(options.cache, name)
        try:
            age = now - os.lstat(path).st_mtime
        except FileNotFoundError:
            continue
        if _is_left(name, path, age):
            _remove(path)
        elif not os.path.islink(path):
            found.append((age, name, path, _size(path)))
    total = options.bytes + sum(size for _, _, _, size in found)
    for age, name, path, size in sorted(found, reverse=True):
        if total <= options.most:
            return 0
        if SENT.fullmatch(name) and name not in options.keep and age > JUST_USED_SECONDS and not _in_use(path):
            _remove(path)
            total -= size
    if total <= options.most:
        return 0
    text = "%.1f MiB cannot be sent: %.1f MiB in %s are in use, and %.1f MiB may lie there (reach.limits.cache)"
    figures = (options.bytes / MIB, (total - options.bytes) / MIB, options.cache, options.most / MIB)
    print(text % figures, file=sys.stderr)
    return 1


def _is_left(name: str, path: str, age: float) -> bool:
    """Whether it is what a killed agent or a broken transfer left behind."""
    if HALF_SENT.fullmatch(name):
        return age > TRANSFER_SECONDS
    return bool(FOLDER_OF_AGENT.fullmatch(name)) and age > JUST_USED_SECONDS and not _in_use(path)


def _in_use(path: str) -> bool:
    """Whether a tether holds its lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _size(path: str) -> int:
    """The bytes of a file, or of all files below a folder."""
    if not os.path.isdir(path):
        return os.lstat(path).st_size
    sizes = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                one = os.lstat(os.path.join(folder, name))
            except FileNotFoundError:
                continue
            sizes += one.st_size if stat.S_ISREG(one.st_mode) else 0
    return sizes


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        try:
            os.unlink(path)
        except FileNotFoundError:  # another host was faster
            return


if __name__ == "__main__":
    sys.exit(main())
