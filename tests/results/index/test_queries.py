"""What the index answers: history of a cell, new failures, flaky cells, trends of time, runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Status
from bench_plugin.results.identity import cell_text
from bench_plugin.results.index.queries import cells_named, failures, flaky, run_named, runs
from bench_plugin.results.index.queries import history as history_of
from bench_plugin.results.index.store import opened
from bench_plugin.results.index.trends import moved_most, trends, trends_of
from tests.results.index.conftest import History
from tests.results.nights import axes, decided, failed, passed, run_id, timed

if TYPE_CHECKING:
    from bench_plugin.results.tables.database import Connection

LSTM, VGG, BERT = axes("lstm"), axes("vgg"), axes("bert")


@pytest.fixture
def index(history: History) -> Iterator[Connection]:
    """Five nights: lstm breaks in the third and stays so, vgg breaks and is right again, bert comes late and fails."""
    history.add(1, passed(LSTM, "a1", E=1e-7), failed(VGG, "b1"), passed(axes("vgg", "iree"), "c1"))
    history.add(2, passed(LSTM, "a1", E=1e-7), passed(VGG, "b2"), passed(axes("vgg", "iree"), "c1"))
    newer = {"versions": {"onnxruntime": "1.32.0", "onnx": "1.23.2"}}
    history.add(3, failed(LSTM, "a3", "broke") | newer, failed(VGG, "b2"), failed(axes("known"), "k1", known=True))
    history.add(4, failed(LSTM, "a3", "broke") | newer, passed(VGG, "b2"), decided(axes("never")))
    history.add(5, failed(LSTM, "a3", "still") | newer, passed(VGG, "b2"), failed(BERT, "d1", "new"))
    history.update()
    with opened(history.index) as connection:
        yield connection


def test_the_history_of_a_cell_says_when_it_changed_and_which_versions_changed_beside_it(index: Connection) -> None:
    points = history_of(index, cell_text(LSTM))
    assert [(point.run, point.status, point.changed) for point in points] == [
        (run_id(1), "supported", True), (run_id(2), "supported", False), (run_id(3), "ERROR", True),
        (run_id(4), "ERROR", False), (run_id(5), "ERROR", False),
    ]  # fmt: skip
    assert points[2].versions == {"onnxruntime": ("1.31.1", "1.32.0")}
    assert [bool(point.versions) for point in points] == [False, False, True, False, False]
    assert (points[0].E, points[2].E, points[2].reason, points[2].commit) == (1e-7, None, "broke", "c000003")
    assert points[0].plain()["started"] == "2026-11-01T02:00:00Z"


@pytest.mark.parametrize(
    ("since", "found"),
    [
        (1, {"lstm": (3, "supported", True), "vgg": (3, "ERROR", False), "bert": (5, None, True)}),
        (2, {"lstm": (3, "supported", True), "vgg": (3, "supported", False), "bert": (5, None, True)}),
        (3, {"bert": (5, None, True)}),
        (4, {"bert": (5, None, True)}),
        (5, {}),
    ],
)
def test_new_failures_are_those_of_cells_that_did_not_fail_until_then(
    index: Connection, since: int, found: dict[str, tuple[int, str | None, bool]]
) -> None:
    if since == 1:
        del found["vgg"]  # it failed in the first night already
    said = {one["cell"].split("model=")[1].split()[0]: one for one in failures(index, run_id(since))}
    assert {name: (one["run"], one["before"], one["still"]) for name, one in said.items()} == {
        name: (run_id(night), before, still) for name, (night, before, still) in found.items()
    }


def test_a_new_failure_says_where_and_why_and_those_that_still_fail_are_first(index: Connection) -> None:
    found = failures(index, run_id(2))
    assert [one["still"] for one in found] == [True, True, False]
    (one,) = (one for one in found if "lstm" in one["cell"])
    assert (one["stage"], one["symptom"], one["reason"], one["key"]) == ("compile", "exception", "broke", "a3")
    assert (one["status"], one["now"]) == ("ERROR", "ERROR")


def test_known_failures_are_new_failures_only_if_asked_for(index: Connection) -> None:
    names = [one["cell"] for one in failures(index, run_id(2), known=True)]
    assert cell_text(axes("known")) in names
    assert cell_text(axes("known")) not in [one["cell"] for one in failures(index, run_id(2))]


def test_a_run_that_has_only_some_cells_is_no_change_of_the_others(history: History) -> None:
    history.add(1, passed(LSTM), failed(VGG))
    history.add(2, passed(BERT))  # narrowed
    history.add(3, failed(LSTM), failed(VGG))
    history.update()
    with opened(history.index) as index:
        assert [one["cell"] for one in failures(index, run_id(2))] == [cell_text(LSTM)]


def test_a_cell_that_a_missing_shard_left_out_did_not_change(history: History) -> None:
    history.add(1, failed(VGG))
    history.add(2, decided(VGG) | {"status": "not run"}, passed(LSTM))
    history.add(3, failed(VGG), passed(LSTM))
    history.update()
    with opened(history.index) as index:
        assert failures(index, run_id(2)) == []
        assert [point.status for point in history_of(index, cell_text(VGG))] == ["ERROR", "ERROR"]


def test_runs_are_in_the_order_of_their_begin_whatever_order_they_came_in(history: History) -> None:
    for number in (3, 1, 2):
        history.add(number, passed(LSTM))
        history.update()
    with opened(history.index) as index:
        assert [one["run"] for one in runs(index)] == [run_id(1), run_id(2), run_id(3)]
        assert [point.run for point in history_of(index, cell_text(LSTM))] == [run_id(1), run_id(2), run_id(3)]


def test_flaky_is_what_changed_under_one_key(index: Connection) -> None:
    (one,) = flaky(index, 30)
    assert one["cell"] == cell_text(VGG)
    assert (one["runs"], one["changes"], one["unexplained"], one["now"]) == (5, 3, 2, "supported")
    assert one["statuses"] == ["ERROR", "supported"]
    assert flaky(index, 2) == []


def test_a_lost_board_and_a_changed_expectation_are_not_flaky(history: History) -> None:
    history.add(1, passed(LSTM, "a1"), failed(VGG, "b1"))
    history.add(2, passed(LSTM, "a1") | {"status": str(Status.BOARD_LOST)}, failed(VGG, "b1", known=True))
    history.update()
    with opened(history.index) as index:
        assert flaky(index, 30) == []


def test_cells_are_named_by_words_keys_and_canonical_text(index: Connection) -> None:
    assert cells_named(index, ["VGG", "fp32", "local"]) == [cell_text(axes("vgg", "iree")), cell_text(VGG)]
    assert cells_named(index, ["vgg", "compiler=iree"]) == [cell_text(axes("vgg", "iree"))]
    assert cells_named(index, [cell_text(BERT)]) == [cell_text(BERT)]


def test_a_key_or_its_beginning_names_a_cell(history: History) -> None:
    history.add(1, passed(LSTM, "0a1b2c3d4e5f"), passed(VGG, "0a1bffffffff"))
    history.update()
    with opened(history.index) as index:
        assert cells_named(index, ["0a1b2c3d4e5f"]) == [cell_text(LSTM)]
        assert cells_named(index, ["0a1b2"]) == [cell_text(LSTM)]
        assert cells_named(index, ["0a1b"]) == [cell_text(LSTM), cell_text(VGG)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["lstn"],
            "lstn: none of the 6 cells of the index has this key or these values on its axes; did you mean lstm?",
        ),
        (["lstm", "iree"], "lstm iree: none of the 6 cells .*, such as the name of a model or a compiler"),
    ],
)
def test_a_cell_that_is_not_there_is_said_with_the_nearest_words(
    index: Connection, words: list[str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        cells_named(index, words)


def test_a_run_is_named_by_its_id_or_the_beginning(index: Connection) -> None:
    assert run_named(index, run_id(3)) == run_named(index, run_id(3)[:9]) == run_id(3)
    with pytest.raises(UsageError, match="202611: 5 runs of the index begin so; give more of the run id"):
        run_named(index, "202611")
    with pytest.raises(UsageError, match=rf"2025: no run of the index has this id \(the newest are .*{run_id(5)}\)"):
        run_named(index, "2025")


def test_the_runs_count_what_passed_failed_and_is_known(index: Connection) -> None:
    third = runs(index)[2]
    said = {"lines": 3, "computed": 3, "passed": 0, "failed": 2, "known": 1, "planned": 3, "profile": "quick"}
    assert {name: third[name] for name in said} == said
    assert runs(index)[3]["computed"] == 2 and runs(index)[3]["lines"] == 3


def test_a_trend_has_a_point_for_each_run_and_compares_times_of_one_machine_alone(history: History) -> None:
    for number, (seconds, host) in enumerate([(0.5, "other"), (0.1, "here"), (0.1, "here"), (0.15, "here")], 1):
        history.add(number, timed(LSTM, seconds, host=host), timed(VGG, 0.3), passed(BERT, E=1e-7))
    history.update()
    cell = cell_text({**LSTM, "check": "timing"})
    found = trends(history.index, [cell, cell_text(BERT), "none"])
    assert set(found) == {cell, cell_text(BERT)}
    one = found[cell]
    assert one.run == [run_id(number) for number in (1, 2, 3, 4)]
    assert one.started[0] == "2026-11-01T02:00:00Z"
    assert (one.p50, one.place) == ([0.5, 0.1, 0.1, 0.15], ["other", "here", "here", "here"])
    assert one.comparable == [0.1, 0.1, 0.15]
    assert one.ratio == pytest.approx(1.5) and one.plain()["ratio"] == one.ratio
    assert (found[cell_text(BERT)].ratio, found[cell_text(BERT)].E) == (None, [1e-7] * 4)
    with opened(history.index) as index:
        moved = moved_most(index, 5)
        assert moved == [cell, cell_text({**VGG, "check": "timing"})]
        assert [one.cell for one in trends_of(index, moved)] == sorted(moved)


def test_emulated_boards_have_a_trend_of_instructions(history: History) -> None:
    for number, counted in enumerate([1000, 1000, 1500], 1):
        timing = {"instructions": {"median": counted}, "compute": {"median": 9.0}}
        history.add(number, passed(LSTM, timing=timing) | {"placement": {"timing": "emulated"}})
    history.update()
    one = trends(history.index, [cell_text(LSTM)])[cell_text(LSTM)]
    assert (one.p50, one.comparable, one.ratio) == ([None] * 3, [1000, 1000, 1500], 1.5)
