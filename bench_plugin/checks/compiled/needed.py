"""What a trained model needs, beside its verdict: its pruned variants are compared by operations and weights."""

from __future__ import annotations

import json
from typing import Any

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.needs import Needs, needs
from bench_plugin.pipeline.cell_run import CellRun, OnnxFile
from bench_plugin.pipeline.tasks import graph_tasks

KEY = "needs"


def note_needs(run: CellRun, file: OnnxFile) -> None:
    """Note the needs of the cell's file at a batch of one; nothing for a model whose weights are seeded.

    Where the file cannot be read, a flag says why.
    """
    if not run.model.training(run.cell.framework):
        return
    done = run.uncredited(graph_tasks.facts(run.tasks, run.model, file))
    if done.failure:
        run.log.flag(f"no needs: {done.failure.message}")
        return
    facts = Facts.read(json.loads(done.files["facts.json"].read_bytes()))
    run.log.numbers[KEY] = of_row(needs(facts))


def of_row(found: Needs) -> dict[str, Any]:
    """``numbers["needs"]`` of a row."""
    return {
        "operations": found.operations, "weights": found.weights, "parameters": found.parameters,
        "other_operations": found.other_operations, "lower_bound": found.lower_bound,
    }  # fmt: skip
