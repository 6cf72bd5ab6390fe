"""Whether stored integers stayed what they are, or were held in a wider type: the carrier.

An adapter declares it or reads it back, as ``emulated`` in the placement of its reply: ``no``, ``partly`` or ``yes``.
"""

from __future__ import annotations

from bench_plugin.pipeline.cell_log import CellLog

EMULATED, UNKNOWN = "emulated", "unknown"
FLAGS = {"yes": "emulated", "partly": "partly emulated"}


def note(log: CellLog) -> None:
    """Note in the row of such a cell whether they are emulated, ``unknown`` where its adapter does not say."""
    said = str(log.placement.setdefault(EMULATED, UNKNOWN))
    if said in FLAGS:
        log.flag(FLAGS[said])
