"""What a program on a board counted of itself: instructions and memory, as a row has them."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from bench_plugin.pipeline.cell_log import CellLog


def note_counters(log: CellLog, counters: Mapping[str, Any]) -> None:
    """Note the counters of the runs of a program (reach/boards/program_agent.py); what was not counted is absent.

    Instructions are those of the model's own call, one figure for each sample, and never a time.
    """
    if instructions := counters.get("instructions"):
        timing = dict(log.numbers.get("timing") or {})
        timing["instructions"] = {
            "median": int(median(instructions)), "min": min(instructions), "max": max(instructions),
            "n": len(instructions),
        }  # fmt: skip
        log.numbers["timing"] = timing
    names = {"flash": "flash_bytes", "ram": "ram_bytes", "stack": "stack_bytes"}
    memory = {name: counters[key] for name, key in names.items() if counters.get(key)}
    if memory:
        log.artefacts["memory"] = memory
