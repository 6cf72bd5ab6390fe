"""The search itself, with functions in the place of compilers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench_plugin.domain.texts.messages import EMPTY
from bench_plugin.generation.graphs import Graph
from bench_plugin.generation.search import AGREED, FAILED, Effort, Report, Signature, Tried, search
from bench_plugin.generation.strategies import graphs, single

EFFORT = Effort(60, 60, 60.0, True)


def searched(attempt: Callable[[Graph], Tried], *known: Signature, joined: bool = False) -> Report:
    return search(
        graphs(["Elu", "Relu", "Concat"]) if joined else single("Concat"),
        attempt,
        lambda tried: any(tried.signature is not None and one.covers(tried.signature) for one in known),
        EFFORT,
        examples=60,
        database=Path("unused"),
    )


def failure(graph: Graph, message: str = "wrong") -> Tried:
    return Tried(FAILED, message, Signature("compare", "mismatch", graph.operators, message))


def agrees(graph: Graph) -> Tried:
    return Tried(AGREED)


def two_bugs(graph: Graph) -> Tried:
    axis = graph.nodes[0].attributes["axis"]
    if len(graph.nodes[0].inputs) > 2:
        return failure(graph, "three operands")
    return failure(graph, "negative axis") if axis < 0 else Tried(AGREED)


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    report = searched(agrees)
    assert report.found == [] and report.counts[AGREED] > 30


def test_each_bug_is_found_once_and_made_small() -> None:
    report = searched(two_bugs)
    assert [tried.reason for _, tried in report.found] == ["negative axis", "three operands"]
    for graph, _ in report.found:
        assert all(size <= 1 for one in graph.sources for size in one.port.shape)


def test_a_bug_that_needs_no_empty_tensor_is_not_found_again_with_one() -> None:
    report = searched(lambda graph: failure(graph, f"wrong {EMPTY}" if graph.has_empty_tensor else "wrong"))
    assert [tried.reason for _, tried in report.found] == ["wrong"]
    report = searched(lambda graph: failure(graph, f"wrong {EMPTY}") if graph.has_empty_tensor else Tried(AGREED))
    assert [tried.reason for _, tried in report.found] == [f"wrong {EMPTY}"]


def test_a_known_bug_does_not_hide_another() -> None:
    report = searched(two_bugs, Signature("compare", "mismatch", ("Concat",), "negative axis"))
    assert [tried.reason for _, tried in report.found] == ["three operands"]
    assert report.known > 0


def test_a_graph_of_several_shrinks_to_the_guilty_operator() -> None:
    report = searched(lambda graph: failure(graph) if "Elu" in graph.operators else Tried(AGREED), joined=True)
    ((graph, tried),) = report.found
    assert len(graph.nodes) == 2 and "Elu" in graph.operators
    assert tried.signature is not None
    again = searched(
        lambda graph: failure(graph) if "Elu" in graph.operators else Tried(AGREED),
        Signature("compare", "mismatch", ("Elu",), "wrong"),
        joined=True,
    )
    assert again.found == [] and again.known > 0


def test_a_result_that_changes_does_not_confuse_the_search() -> None:
    seen: list[str] = []

    def flaky(graph: Graph) -> Tried:
        seen.append(graph.digest)
        return failure(graph) if len(seen) == 5 else Tried(AGREED)

    report = searched(flaky)
    assert len(report.found) == 1
    assert len(seen) == len(set(seen))


def test_the_time_ends_a_search() -> None:
    report = search(
        single("Concat"), failure, lambda tried: False, Effort(60, 60, -1.0, True), examples=60, database=Path("x")
    )
    assert report.out_of_time and report.found == [] and report.counts == {}


def test_what_a_tool_does_with_any_operator_is_one_signature() -> None:
    anything = Signature("compare", "mismatch", ("*",), "negative axis")
    assert anything.covers(Signature("compare", "mismatch", ("Concat",), "negative axis"))
    assert not anything.covers(Signature("compare", "mismatch", ("Concat",), "three operands"))
