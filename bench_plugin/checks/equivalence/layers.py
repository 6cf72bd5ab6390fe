"""A pre-quantised QDQ model layer by layer, compiled by the same tool and fed with the integers of the reference."""

from __future__ import annotations

from bench_plugin.checks.compiled.compiling import CompiledModels
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import graph_tasks
from bench_plugin.pipeline.tasks.subjects import Arrays, Subject


def layer_results(run: CellRun, models: CompiledModels, graph: Subject) -> tuple[Arrays, Done] | None:
    """The integers that every layer should give, [N, ...] by name, and the stage that ran the layers.

    None where the graph cannot be taken apart or its layers cannot be run; a flag of the cell says why.
    """
    apart = run.obtain("layers", graph_tasks.layers(run.tasks, run.model, graph))
    if apart.failure or not apart.meta["layers"]["layers"]:
        why = apart.failure.message if apart.failure else "none of them is named"
        run.log.flag(f"layers could not be taken apart: {why}")
        return None
    names = list(apart.meta["layers"]["layers"])
    reference = run.obtain("evaluate", graph_tasks.exposed(run.tasks, run.model, graph, apart))
    if reference.failure:
        run.log.flag(f"layers have no float64 reference: {reference.failure.message}")
        return None
    integers = {name: reference.arrays[f"out{index}"] for index, name in enumerate(names)}
    subject = graph_tasks.layer_by_layer(graph, apart, reference, integers)
    done = run.obtain("layers", models.compile_tasks.compile(run.cell, subject, models.limits(run)))
    if not done.failure:
        done = run.obtain("layers", models.compile_tasks.run(run.cell, subject, done, models.limits(run)))
    if done.failure:
        run.log.flag(f"layers could not be run one by one: {done.failure.message}")
        return None
    return integers, done
