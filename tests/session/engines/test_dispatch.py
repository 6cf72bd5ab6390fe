"""Which worker gets which cell, and what becomes of the cells of a worker that is lost: the table alone."""

from __future__ import annotations

from collections.abc import Iterable

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.session.engines.remote.dispatch import Dispatch, Place, Wanted

PATIENCE = 10.0


def place(name: str, *resources: str, threads: int = 1, node: str = "") -> Place:
    return Place(f"tcp://{name}", name, node or f"node of {name}", threads, frozenset(resources))


def cell(model: str, check: Check = Check.EXPORT) -> Cell:
    return Cell(check, model, "fake")


def table(places: Iterable[Place], wanted: dict[str, Wanted]) -> Dispatch:
    dispatch = Dispatch(PATIENCE)
    for one in places:
        dispatch.arrived(one)
    for model, asked in wanted.items():
        dispatch.add(cell(model), asked)
    return dispatch


def given(dispatch: Dispatch, now: float = 0.0) -> dict[str, str]:
    """By model: the worker that got its cell."""
    return {one.cell.model: one.place.name for one in dispatch.assigned(now)}


def test_cells_that_share_an_export_stay_on_one_worker_while_there_is_other_work() -> None:
    wanted = {"a1": Wanted("a"), "a2": Wanted("a"), "b1": Wanted("b"), "b2": Wanted("b")}
    dispatch = table([place("n1"), place("n2")], wanted)
    assert given(dispatch) == {"a1": "n1", "b1": "n2"}
    dispatch.done(cell("b1"))
    assert given(dispatch) == {"b2": "n2"}
    dispatch.done(cell("b2"))
    assert given(dispatch) == {"a2": "n2"}, "no worker idles while a cell waits"


def test_the_cell_that_a_test_waits_for_goes_first() -> None:
    dispatch = table([place("n1")], {name: Wanted(name) for name in "abc"})
    dispatch.ask(cell("c"))
    assert given(dispatch) == {"c": "n1"}


def test_a_worker_computes_as_many_cells_as_it_has_threads() -> None:
    dispatch = table([place("n1", threads=2), place("n2")], {name: Wanted(name) for name in "abcd"})
    assert sorted(given(dispatch).values()) == ["n1", "n1", "n2"]


def test_a_board_has_one_cell_at_a_time_and_any_of_a_pool_will_do() -> None:
    pool = Wanted("a", boards=("board_pi-1", "board_pi-2"))
    dispatch = table([place("n1", "board_pi-1", threads=4), place("n2", "board_pi-2"), place("n3")], {})
    for name in "abc":
        dispatch.add(cell(name), pool)
    assert given(dispatch) == {"a": "n1", "b": "n2"}
    assert {one.board for one in dispatch.running.values()} == {"board_pi-1", "board_pi-2"}
    dispatch.done(cell("a"))
    assert given(dispatch) == {"c": "n1"}


def test_a_toolchain_that_no_worker_names_is_made_anywhere() -> None:
    wanted = {"a": Wanted("a", ("toolchain_tvm",)), "b": Wanted("b", ("toolchain_iree",))}
    assert given(table([place("n1"), place("n2", "toolchain_tvm")], wanted)) == {"a": "n2", "b": "n1"}


def test_a_lost_worker_costs_its_cells_one_more_attempt_elsewhere() -> None:
    dispatch = table([place("n1"), place("n2")], {"a": Wanted("a")})
    assert given(dispatch) == {"a": "n1"}
    assert dispatch.lost("tcp://n1", "was lost") == ([cell("a")], [])
    assert given(dispatch) == {"a": "n2"} and dispatch.story(cell("a")) == ("worker n1 was lost",)
    again, failed = dispatch.lost("tcp://n2", "was lost")
    assert not again and failed == [(cell("a"), "worker n1 was lost; worker n2 was lost")]
    dispatch.arrived(place("n3"))
    assert given(dispatch) == {}, "a cell that cost two workers is not given to a third"


def test_cells_whose_resource_died_are_given_up_after_a_while_with_its_name() -> None:
    wanted = {"a": Wanted("a", boards=("board_pi4",)), "b": Wanted("b", ("toolchain_tvm",)), "c": Wanted("c")}
    dispatch = table([place("n1"), place("n2", "board_pi4", "toolchain_tvm")], wanted)
    dispatch.lost("tcp://n2", "was lost")
    assert dispatch.stranded(0.0) == [] and dispatch.stranded(PATIENCE - 1) == []
    found = {one.model: reason for one, reason in dispatch.stranded(PATIENCE)}
    assert found == {
        "a": "no worker of the cluster has the resource board_pi4 (worker n2 had it), for 10 s",
        "b": "no worker of the cluster has the resource toolchain_tvm (worker n2 had it), for 10 s",
    }
    assert given(dispatch, PATIENCE) == {"c": "n1"} and dispatch.stranded(2 * PATIENCE) == []


def test_a_worker_that_comes_back_in_time_gets_the_cells_of_its_resource() -> None:
    dispatch = table([place("n1", "board_pi4")], {"a": Wanted("a", boards=("board_pi4",))})
    dispatch.lost("tcp://n1", "was lost")
    assert dispatch.stranded(0.0) == []
    dispatch.arrived(place("n1", "board_pi4"))
    assert dispatch.stranded(PATIENCE + 1) == [] and given(dispatch) == {"a": "n1"}


def test_resources_that_no_single_worker_has_are_said() -> None:
    dispatch = table(
        [place("n1", "toolchain_tvm"), place("n2", "toolchain_fake")],
        {"a": Wanted("a", ("toolchain_fake", "toolchain_tvm"))},
    )
    assert dispatch.stranded(0.0) == []
    ((_, reason),) = dispatch.stranded(PATIENCE)
    assert reason == "no worker of the cluster has all of toolchain_fake, toolchain_tvm, for 10 s"


def test_a_cell_beyond_its_time_is_tried_elsewhere_and_its_thread_counts_as_occupied() -> None:
    dispatch = table([place("n1"), place("n2")], {"a": Wanted("a", seconds=5.0)})
    dispatch.assigned(0.0)
    assert dispatch.overdue(4.0) == [] and dispatch.overdue(6.0) == [(cell("a"), "")]
    dispatch.add(cell("b"), Wanted("b"))
    assert given(dispatch, 6.0) == {"a": "n2"}, "the thread of n1 still computes"
    ((_, reason),) = dispatch.overdue(12.0)
    assert reason == "worker n1 did not finish the cell within 5 s; worker n2 did not finish the cell within 5 s"


def test_a_timing_has_its_machine_alone_and_comes_last() -> None:
    here = [place("n1", node="one", threads=2), place("n2", node="one"), place("n3", node="two")]
    dispatch = table(here, {})
    timing = cell("t", Check.TIMING)
    dispatch.add(timing, Wanted("t", alone=True))
    for name in "abcd":
        dispatch.add(cell(name), Wanted(name))
    assert sorted(given(dispatch)) == ["a", "b", "c", "d"] and timing not in dispatch.running
    dispatch.done(cell("a"))
    assert given(dispatch) == {}, "a machine that is not empty is emptied for it"
    for name in "bcd":
        dispatch.done(cell(name))
    dispatch.add(cell("e"), Wanted("e"))
    dispatch.ask(timing)
    first = dispatch.assigned(0.0)
    nodes = {one.cell.model: one.place.node for one in first}
    assert nodes["t"] != nodes["e"], "nothing else computes on the machine of a timing"


def test_without_any_worker_cells_are_given_up_after_a_while() -> None:
    dispatch = table([place("n1")], {"a": Wanted("a")})
    dispatch.assigned(0.0)
    dispatch.lost("tcp://n1", "was lost")
    assert dispatch.stranded(0.0) == []
    ((_, reason),) = dispatch.stranded(PATIENCE)
    assert reason == "worker n1 was lost; no worker is left in the cluster, for 10 s"


def test_while_cells_are_brief_a_worker_has_one_more_than_it_computes() -> None:
    wanted = {name: Wanted(name, boards=("board_x",) if name == "b" else ()) for name in "abcdefgh"}
    dispatch = table([place("n1", "board_x"), place("n2")], wanted)
    assert given(dispatch) == {"a": "n1", "c": "n2"}, "nobody knows yet how long cells take"
    dispatch.done(cell("a"), 0.01)
    assert given(dispatch) == {"b": "n1", "d": "n1", "e": "n2"}, "a cell that needs a board is given to a free thread"
    assert dispatch.lost("tcp://n1", "was lost") == ([cell("b"), cell("d")], [])
    assert dispatch.story(cell("b")) and not dispatch.story(cell("d")), "d had not begun"
    dispatch.done(cell("c"), 100.0)
    assert given(dispatch) == {}, "cells take long, so n2 keeps what it has and gets no more"
