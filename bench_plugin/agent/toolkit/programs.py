"""Programs that an adapter runs: found on PATH, run to their end, with their output as text."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Mapping, NamedTuple, Optional, Sequence

from bench_plugin.agent.adapter import NotProvided


class Finished(NamedTuple):
    """A program that ended: its status (negative for the number of a signal that ended it) and its output."""

    status: int
    text: str


def executable(name: str, package: str = "", *others: str) -> str:
    """The path of the first of ``name`` and ``others`` that is on PATH.

    Raises NotProvided where none is; it names the package to install, ``package`` or that of the same name.
    """
    for one in (name, *others):
        path = shutil.which(one)
        if path is not None:
            return path
    raise NotProvided("%s not found; install %s" % (name, package or name))


def run(argv: Sequence[str], folder: Optional[str] = None, variables: Optional[Mapping[str, str]] = None) -> Finished:
    """Run a program in ``folder``, which is also its folder of temporary files; both its outputs are joined.

    It stays in the process group of the agent, so that it ends with the agent, and its messages are English.
    Raises OSError where it cannot be started.
    """
    environment = {**os.environ, "LC_ALL": "C", **({"TMPDIR": folder} if folder else {}), **(variables or {})}
    done = subprocess.run(
        argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    return Finished(done.returncode, done.stdout)
