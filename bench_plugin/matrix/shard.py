"""Shards: a selection divided into parts that take about equally long, the same parts in every process.

Cells that share an export go together, because the export is made once for all of them: nothing is computed twice in
two shards, and nothing waits for what another machine makes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean
from zlib import crc32

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.results.durations import Seconds

CHUNKS = 64  # of operator cases: a chunk has a case in all compilers, which share its reference
SHARED = frozenset({"build", "reference", "export", "check"})  # stages that the cells of one export have in common
OVERHEAD = 0.05  # seconds of pytest and of the harness for each test
# Seconds of a cell of which no duration is known: means of this project's own rows, profile quick on two cores.
ESTIMATES: Mapping[Check, float] = {
    Check.EXPORT: 4.0, Check.IMPORT: 4.0, Check.EQUIVALENCE: 8.0, Check.OPERATOR: 0.3, Check.PROPERTY: 0.2,
    Check.QUALITY: 11.0, Check.TIMING: 25.0, Check.LAYERS: 120.0,
}  # fmt: skip


def artefact_key(cell: Cell) -> str:
    """What is the same of all cells that share an export; of operator cases the chunk that they are in.

    >>> artefact_key(Cell(Check.IMPORT, "lstm", "pytorch", "dynamo", 20, "mxnet", "onnx2mx"))
    'lstm-pytorch-dynamo-20'
    """
    if cell.check is Check.OPERATOR:
        return f"operators-{crc32(cell.model.encode()) % CHUNKS}"
    if cell.check is Check.PROPERTY:
        return f"property-{cell.model}"
    return "-".join(map(str, filter(None, (cell.model, cell.framework, cell.exporter, cell.opset))))


def group_seconds(cells: Iterable[Cell], known: Mapping[Cell, Seconds], usual: Mapping[Check, float]) -> float:
    """Seconds that the cells of one artefact take together: the stages that they share count once.

    ``known`` are the stages of cells in an earlier run, ``usual`` the seconds of the other cells, by their check.
    """
    shared: dict[str, float] = {}
    own = 0.0
    for cell in sorted(cells):
        own += OVERHEAD
        if cell not in known:
            own += usual[cell.check]
            continue
        for stage, seconds in known[cell].items():
            if stage in SHARED and cell.check is not Check.OPERATOR:
                shared[stage] = max(shared.get(stage, 0.0), seconds)
            else:
                own += seconds
    return own + sum(shared.values())


def usual_seconds(known: Mapping[Cell, Seconds]) -> dict[Check, float]:
    """The seconds of a cell of each check: the mean of the known ones, else an estimate."""
    of_check: dict[Check, list[float]] = {}
    for cell in sorted(known):
        of_check.setdefault(cell.check, []).append(sum(known[cell].values()))
    return {check: fmean(of_check[check]) if check in of_check else ESTIMATES[check] for check in Check}


def balanced(seconds: Mapping[str, float], count: int) -> dict[str, int]:
    """The shard, from 1 to ``count``, of every group: the longest group first, each to the shard with the least work.

    >>> balanced({"a": 5.0, "b": 4.0, "c": 3.0, "d": 3.0}, 2)
    {'a': 1, 'b': 2, 'c': 2, 'd': 1}
    """
    load = [0.0] * count
    found: dict[str, int] = {}
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        place = load.index(min(load))
        load[place] += seconds[name]
        found[name] = place + 1
    return found


def divided(
    cells: Iterable[Cell], others: Iterable[str], count: int, known: Mapping[Cell, Seconds]
) -> tuple[dict[Cell, int], dict[str, int]]:
    """The shard, from 1 to ``count``, of every cell, and of every file of tests without a cell.

    ``others`` names the file of every such test. The order of ``cells`` and ``others`` has no influence, nor has
    anything else of the process.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in sorted(set(cells)):
        groups.setdefault(artefact_key(cell), []).append(cell)
    usual = usual_seconds(known)
    seconds = {f"cell {name}": group_seconds(group, known, usual) for name, group in groups.items()}
    tests = Counter(others)
    seconds |= {f"file {name}": OVERHEAD * number for name, number in tests.items()}
    shards = balanced(seconds, count)
    of_cells = {cell: shards[f"cell {name}"] for name, group in groups.items() for cell in group}
    return of_cells, {name: shards[f"file {name}"] for name in tests}


def division_hash(shards: Mapping[Cell, int]) -> str:
    """A hash of which cell is in which shard: 16 hex digits."""
    lines = sorted(f"{sorted(cell.axes().items())} {shard}" for cell, shard in shards.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
