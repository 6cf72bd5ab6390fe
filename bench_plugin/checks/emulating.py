"""The emulation of a file's precisions, as checks ask for it: one stage, of which a check needs some."""

from __future__ import annotations

from dataclasses import replace

from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks
from bench_plugin.pipeline.tasks.subjects import Subject


def emulated(run: CellRun, subject: Subject, check: Done, *needed: str) -> Done:
    """The stage that emulates every precision on the file of ``subject``, whose outputs are named ``fp16:out0`` ...

    ``check`` is the check of that file. fp32 is always there; the stage failed where one that is ``needed`` could not
    be computed, though others could.
    """
    done = run.obtain("emulate", graph_tasks.emulate(run.tasks, run.model, subject, check))
    missing = {} if done.failure else done.meta["emulate"].get("missing", {})
    reasons = [missing[name] for name in needed if name in missing]
    return replace(done, failure=Failure(Stage.REFERENCE, Symptom.EXCEPTION, reasons[0])) if reasons else done
