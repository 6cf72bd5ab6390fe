"""Whether an artefact for another target is run: which boards there are for it, and what is missing.

======================================================  ======================================
the artefact                                            runs on
======================================================  ======================================
has ``program.elf``                                     boards that run compiled programs
has none, and the adapter names the target in           boards with an agent in Python, which
``boards``: its runtime can be shipped there            gets the adapter and its runtime
anything else, such as a compiler without an artefact   no board: ``unverified: not run``
======================================================  ======================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench_plugin.reach.boards.reach import Reach


@dataclass(frozen=True)
class Artefact:
    """What decides where an artefact can run.

    ``target`` is the name on the axis, ``target_name`` that of the target's file. ``program``: it has ``program.elf``;
    ``leaves_none``: the process that compiled ran it too, so that nothing can be sent. ``runtime_for`` are the targets
    that the adapter's runtime can be shipped to.
    """

    target: str
    target_name: str
    compiler: str
    program: bool
    leaves_none: bool
    runtime_for: tuple[str, ...]


def not_runnable(artefact: Artefact, boards: Sequence[Reach]) -> str:
    """Why no board runs the artefact; empty where one of the ``boards``, those of its target, does."""
    if artefact.leaves_none:
        return f"{artefact.compiler} leaves no artefact that a board could be sent"
    if not boards:
        return f"no board of target {artefact.target} is described (boards/<name>.toml, docs/boards.md)"
    fitting = [board for board in boards if board.programs == artefact.program]
    if not fitting:
        names = ", ".join(board.board.name for board in boards)
        runs = "compiled programs" if boards[0].programs else "Python agents"
        return f"it needs {_needed(artefact)}, and the boards of {artefact.target} run only {runs} ({names})"
    if not artefact.program and artefact.target_name not in artefact.runtime_for:
        return f"the runtime of {artefact.compiler} cannot be shipped to {artefact.target_name}"
    missing = {board.board.name: board.missing() for board in fitting}
    if not all(missing.values()):
        return ""
    return "; ".join(f"board {name}: {text}" for name, text in missing.items())


def _needed(artefact: Artefact) -> str:
    return "a board that runs compiled programs" if artefact.program else "a board with an agent in Python"
