"""The stage recorder says what a cell is at, and of one that waits what is computed meanwhile."""

from __future__ import annotations

import pytest

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.pipeline.stage_recorder import StageRecorder
from bench_plugin.pipeline.stages import Stages

ONE, OTHER, THIRD = (Cell(Check.EXPORT, name, "fake") for name in ("one", "other", "third"))


@pytest.fixture
def recorder() -> StageRecorder:
    """A recorder of which no stage is asked for."""
    return StageRecorder(Stages.__new__(Stages))


def test_a_cell_is_at_its_own_stage(recorder: StageRecorder) -> None:
    recorder.at(ONE, "export")
    recorder.at(OTHER, "check")
    assert recorder.progress(ONE) == "export"
    recorder.at(ONE, "reference")
    assert recorder.progress(ONE) == "reference"


def test_one_that_waits_names_the_cells_that_are_computed_meanwhile(recorder: StageRecorder) -> None:
    assert recorder.progress(THIRD) == "waiting"
    recorder.at(ONE, "export")
    recorder.at(OTHER, "time, launch 3")
    said = f"waiting while others are computed ({ONE.id}: export; {OTHER.id}: time, launch 3)"
    assert recorder.progress(THIRD) == said
    recorder.finished(ONE)
    recorder.finished(OTHER)
    assert recorder.progress(THIRD) == "waiting"
