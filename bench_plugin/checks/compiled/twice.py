"""Does a tool give the same bits twice? A second compilation and run in fresh processes, compared with the first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison
from bench_plugin.domain.axes import TIMED
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.pipeline.array_sets import digests_of
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done

ONE_IN = 8  # of the cells of a profile that is not full
WHOLE_PROFILE = "full"


def asked(cell: Cell, profile: str) -> bool:
    """Whether a cell is run twice: every cell of profile ``full``, of others a sample that is always the same.

    A cell that is timed is not: its launches say by themselves whether they gave the same bits.
    """
    if cell.check in TIMED:
        return False
    if profile == WHOLE_PROFILE:
        return True
    return int(hashlib.sha256(cell.id.encode()).hexdigest(), 16) % ONE_IN == 0


def nondeterministic(
    run: CellRun, models: CompiledModels, found: Compiled, ran: Done, first: Comparison,
    compare: Callable[[Done], Comparison],
) -> Outcome | None:  # fmt: skip
    """The outcome of a cell whose second result differs from the first by more than the tolerance; None for any other.

    ``ran`` is the first run and ``first`` its comparison; ``compare`` judges the second one by the same rule. Whether
    both gave the same bits is noted as number ``deterministic``. A second attempt that fails is flagged: it may come
    from the machine, and says nothing of the numbers.
    """
    compiled, again = models.again(run, found)
    if again.failure is not None:
        run.log.flag(f"a second run in fresh processes failed: {again.failure.symptom}: {again.failure.message}")
        return None
    same = digests_of(ran.arrays) == digests_of(again.arrays)
    run.log.numbers["deterministic"] = same
    if same:
        return None
    run.log.numbers["artefact_same_twice"] = _content(found.compiled) == _content(compiled)
    second = compare(again)
    if {first.status, second.status} != {AGREE, MISMATCH}:
        return None
    reason = f"two fresh compilations and runs differ: the first {_said(first)}, the second {_said(second)}"
    return run.log.outcome(Status.MISMATCH, reason, stage=Stage.COMPARE, symptom=Symptom.NONDETERMINISTIC)


def _content(compiled: Done) -> Mapping[str, Any]:
    """The digests of the artefact's files."""
    return {name: digest for name, digest in compiled.digests.items() if name in compiled.files}


def _said(comparison: Comparison) -> str:
    error = comparison.numbers.get("E")
    number = "" if error is None else f" (E {error:.2e})"
    return f"{'agrees' if comparison.status == AGREE else 'is wrong'}{number}"
