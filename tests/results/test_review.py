"""What a results file says of rows: gone, mixed, too broad, without a signature, or about another failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.known_failures.expectations import Expectations
from bench_plugin.results.known_failures.review import Review, reviewed
from bench_plugin.results.rows import cell_row
from bench_plugin.results.signature import Signature

ROW = (
    '[[expectation]]\ncheck = "export"\nframework = "fake"\nstage = "export"\nsymptom = "exception"\nreason = "known"\n'
)
PASSED = Outcome(Status.SUPPORTED)
BLOCKED = Outcome(Status.UNVERIFIED, unverified=Unverified.BLOCKED)


def failed(reason: str) -> Outcome:
    return Outcome(Status.ERROR, Stage.EXPORT, Symptom.EXCEPTION, reason)


def wrong(needed: float | None) -> Outcome:
    numbers = {} if needed is None else {"needed": needed}
    return Outcome(Status.MISMATCH, Stage.COMPARE, Symptom.MISMATCH, "out0: elements differ", numbers=numbers)


def review(folder: Path, row: str, *outcomes: Outcome) -> Review:
    (folder / "known.toml").write_text(row)
    cells: list[dict[str, Any]] = [
        cell_row(
            {"check": "export", "model": f"m{place}", "framework": "fake"}, outcome, key=f"{place}", nodeid="",
            expected=None, repro=[], result="", settings={}, host="",
        )
        for place, outcome in enumerate(outcomes)
    ]  # fmt: skip
    return reviewed(Expectations.load([folder]), cells)


MISMATCH = ROW.replace('"export"\nsymptom = "exception"', '"compare"\nsymptom = "mismatch"')


@pytest.mark.parametrize(
    ("row", "outcomes", "broad"),
    [
        (ROW, [failed("a 1"), failed("a 2")], ""),
        (ROW, [failed("a 1"), failed("b")], "covers 2 different failures: 'a #', 'b'; split it"),
        (f'{ROW}signature = "..., known"\n', [failed("a, known"), failed("b, known")], ""),
        (MISMATCH, [wrong(1.5), wrong(4.5)], ""),
        (MISMATCH, [wrong(1.5), wrong(4.6)], "covers 2 different failures: needed = 1.5, needed = 4.6; split it"),
        (f"{MISMATCH}needed = 4.6\n", [wrong(1.5), wrong(4.6)], "needed = 1.5, needed = 4.6"),
        (MISMATCH, [wrong(1.5), wrong(None)], "'elements differ', needed = 1.5"),
        (f"{MISMATCH}needed = 1.5\n", [wrong(1.5), wrong(None)], ""),  # the second is a new failure
    ],
)
def test_a_row_that_covers_more_than_one_failure_is_too_broad(
    tmp_path: Path, row: str, outcomes: list[Outcome], broad: str
) -> None:
    found = review(tmp_path, row, *outcomes).too_broad
    assert [broad in line and line.startswith("known.toml row 1: too broad") for line in found] == [True] * bool(broad)


@pytest.mark.parametrize(
    ("row", "outcomes", "missing"),
    [
        (ROW, [failed("a 1"), failed("a 2")], Signature("a #")),
        (ROW, [failed("a 1"), PASSED], Signature("a #")),
        (ROW, [failed("a 1"), failed("b")], Signature()),
        (ROW, [wrong(2.0)], Signature()),
        (f'{ROW}signature = "a ..."\n', [failed("a 1")], Signature()),
        (MISMATCH, [wrong(2.0), wrong(5.0)], Signature(needed=5.0)),
        (f"{MISMATCH}needed = 9.0\n", [wrong(5.0)], Signature()),
        (ROW.replace("exception", "timeout"), [Outcome(Status.ERROR, Stage.EXPORT, Symptom.TIMEOUT, "x")], Signature()),
    ],
)
def test_the_signature_that_a_row_lacks(tmp_path: Path, row: str, outcomes: list[Outcome], missing: Signature) -> None:
    assert review(tmp_path, row, *outcomes).rows[0].missing == missing


@pytest.mark.parametrize(
    ("outcomes", "changed", "otherwise"),
    [
        ([failed("b 1"), failed("b 2")], True, False),
        ([wrong(2.0), wrong(5.0)], True, False),
        ([failed("b"), failed("a")], False, True),
        ([failed("b"), failed("c")], False, True),
        ([failed("b"), wrong(2.0)], False, True),
        ([failed("b"), PASSED], False, True),
        ([failed("b"), BLOCKED], False, True),
        ([failed("a")], False, False),
        ([PASSED], False, False),
    ],
)
def test_a_row_whose_cells_all_fail_in_one_other_way_has_changed(
    tmp_path: Path, outcomes: list[Outcome], changed: bool, otherwise: bool
) -> None:
    (one,) = review(tmp_path, f'{ROW}signature = "a"\n', *outcomes).rows
    assert (one.changed is not None, one.otherwise) == (changed, otherwise)


@pytest.mark.parametrize(
    ("outcomes", "gone", "mixed"),
    [
        ([PASSED, Outcome(Status.OUTSIDE_BOUND)], True, False),
        ([PASSED, failed("a")], False, True),
        ([PASSED, BLOCKED], False, True),
        ([BLOCKED], False, False),
        ([failed("a")], False, False),
    ],
)
def test_a_row_is_gone_when_all_of_its_cells_passed(
    tmp_path: Path, outcomes: list[Outcome], gone: bool, mixed: bool
) -> None:
    (one,) = review(tmp_path, ROW, *outcomes).rows
    assert (one.gone, one.mixed) == (gone, mixed)


def test_failures_without_a_row_are_new(tmp_path: Path) -> None:
    found = review(tmp_path, ROW.replace('"fake"', '"other"'), failed("a"), PASSED)
    assert [one.key for one in found.new] == ["0"] and found.rows == ()
