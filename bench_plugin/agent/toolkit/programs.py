"""Programs that an adapter starts: found on PATH, run to their end, their output as text."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Mapping, NamedTuple, Optional, Sequence

from bench_plugin.agent.adapter import Unsupported


class Finished(NamedTuple):
    """A program that ended: its status (negative: the number of the signal that ended it) and what it printed."""

    status: int
    text: str


def executable(name: str, package: str = "", *others: str) -> str:
    """The path of the first of ``name`` and ``others`` that is on PATH.

    Raises Unsupported, which names the package to install (that of the same name where ``package`` is empty).
    """
    for one in (name, *others):
        path = shutil.which(one)
        if path is not None:
            return path
    raise Unsupported("%s not found; install %s" % (name, package or name))


def run(argv: Sequence[str], folder: Optional[str] = None, variables: Optional[Mapping[str, str]] = None) -> Finished:
    """Run it in ``folder``, which then takes its temporary files too; standard error joins standard output.

    It stays in the agent's process group, so that it ends with the agent, and speaks the language that is read here.
    """
    environment = {**os.environ, "LC_ALL": "C", **({"TMPDIR": folder} if folder else {}), **(variables or {})}
    done = subprocess.run(
        argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    return Finished(done.returncode, done.stdout)
