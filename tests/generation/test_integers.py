"""Integers of generated graphs: every type that ONNX permits, the whole range, no overflow, and an exact reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.generation.catalogue import OPERATORS
from bench_plugin.generation.graphs import Graph
from bench_plugin.generation.ranges import integer_range
from bench_plugin.generation.search import AGREED, EFFORTS, Tried, search
from bench_plugin.generation.strategies import graphs, of_each_integer_type, single
from bench_plugin.generation.values import APART, beside, spread
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.pipeline.tasks.corpus import Pack
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.generation.test_drawing import LIMITS, drawn

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
WORDS = ("int32", "int64", "uint32", "uint64")
BYTES = ("int8", "uint8")
# The integers that ONNX's type constraints permit at opset 17.
DECLARED = {
    **dict.fromkeys(
        (
            *("Abs", "Sign", "Add", "Sub", "Mul", "Div", "Mod", "Equal", "Less", "LessOrEqual", "Greater"),
            *("GreaterOrEqual", "Max", "Min", "Where", "Clip", "Cast", "ArgMax", "ArgMin", "TopK", "Identity"),
            *("Transpose", "Reshape", "Concat", "Split", "Slice", "Pad", "Tile", "Expand", "Gather", "GatherND"),
            *("GatherElements", "ScatterElements", "ScatterND", "DepthToSpace", "SpaceToDepth", "Trilu"),
        ),
        INTEGERS,
    ),
    **dict.fromkeys(("Neg", "Relu"), SIGNED),
    **dict.fromkeys(("ReduceSum", "CumSum"), WORDS),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), (*WORDS, *BYTES)),
    "MaxPool": BYTES,
    "BitShift": UNSIGNED,
}


def whole(array: Any) -> Any:
    """The same numbers as Python's integers, which never overflow."""
    return array.astype(object)


def quotient(a: Any, b: Any) -> Any:
    """Rounded toward zero."""
    return np.where((a < 0) == (b < 0), abs(a) // abs(b), -(abs(a) // abs(b)))


# With Python's integers, which are exact and hold everything.
EXACT: dict[str, Callable[..., Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": quotient,
    "Mod": lambda a, b: a % b,
    "Less": lambda a, b: a < b,
    "LessOrEqual": lambda a, b: a <= b,
    "GreaterOrEqual": lambda a, b: a >= b,
    "Equal": lambda a, b: a == b,
    "Abs": abs,
    "Neg": lambda a: -a,
    "Max": lambda a, *others: a if not others else np.maximum(a, EXACT["Max"](*others)),
    "Min": lambda a, *others: a if not others else np.minimum(a, EXACT["Min"](*others)),
}


@cache
def integers(name: str) -> list[Graph]:
    """Generated graphs of one operator whose first operand is of integers and has elements."""
    found = [graph for graph in drawn(single(name), 150) if graph.sources[0].port.dtype in INTEGERS]
    return [graph for graph in found if not graph.has_empty_tensor and not graph.nodes[0].attributes.get("fmod")]


def result(graph: Graph) -> Any:
    """What the operator of the graph gives, in Python's integers."""
    return np.asarray(EXACT[graph.nodes[0].operator](*(whole(one.values) for one in graph.sources)))


def test_every_operator_gets_the_integers_that_onnx_declares() -> None:
    for name, types in DECLARED.items():
        assert {one for one in OPERATORS[name].types if one in INTEGERS} == set(types), name


@pytest.mark.parametrize("name", ["Div", "Mod", "Max", "Less", "Clip", "MaxPool", "Sub", "ReduceMax", "Gather"])
def test_large_numbers_of_every_type_are_drawn(name: str) -> None:
    above: set[str] = set()
    for graph in (graph for strategy in of_each_integer_type(name) for graph in drawn(strategy, 15)):
        values, dtype = graph.sources[0].values, graph.sources[0].port.dtype
        if values.size and int(values.max()) > np.iinfo(dtype).max // (2 if dtype in UNSIGNED else 4):
            above.add(dtype)
    assert above == {one for one in OPERATORS[name].types if one in INTEGERS}


def test_large_numbers_are_drawn_where_no_type_is_asked_for() -> None:
    """Which ones come is chance: hypothesis takes numbers of the modules that are loaded into account."""
    drawn_types = {
        graph.sources[0].port.dtype
        for name in ("Div", "Less", "Clip", "ReduceMax")
        for graph in integers(name)
        if int(graph.sources[0].values.max()) > np.iinfo(graph.sources[0].port.dtype).max // 4
    }
    assert len(drawn_types) > 2 and drawn_types & set(UNSIGNED)


@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Div", "Mod", "Abs", "Neg"])
def test_no_result_overflows(name: str) -> None:
    found = integers(name)
    assert len(found) > 30
    for graph in found:
        kind = np.iinfo(graph.sources[0].port.dtype)
        values = result(graph)
        assert values.min() >= kind.min and values.max() <= kind.max, graph.text()


@pytest.mark.parametrize("name", ["ReduceSum", "CumSum"])
def test_no_sum_overflows(name: str) -> None:
    for graph in integers(name):
        one = graph.sources[0]
        assert sum(map(abs, one.values.reshape(-1).tolist())) <= np.iinfo(one.port.dtype).max, graph.text()


def test_a_cast_to_floats_gets_numbers_that_they_hold() -> None:
    for graph in integers("Cast"):
        values = graph.sources[0].values.reshape(-1).tolist()
        bits = {1: 24, 11: 53}.get(graph.nodes[0].attributes["to"], 64)
        assert max(map(abs, values)) <= 2**bits


def test_graphs_of_several_nodes_stay_far_from_the_limits() -> None:
    for graph in drawn(graphs(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Clip", "Abs"]), 80):
        assert len(graph.nodes) > 1
        for one in graph.sources:
            if one.port.dtype in INTEGERS:
                assert max(map(abs, one.values.reshape(-1).tolist()), default=0) <= 9, graph.text()


def test_large_integers_do_not_pass_through_floating_point() -> None:
    low, high = integer_range("all", "uint64", 0, 1)
    values = [int(value) for value in spread("uint64", (400,), low, high, 1, [(0, high)])]
    assert values[0] == 2**64 - 1
    assert any(value > 2**63 and value % 2 for value in values) and any(value < 100 for value in values)
    low, high = integer_range("difference", "uint64", 0, 1)
    assert spread("uint64", (400,), low, high, 2, []).min() >= 2**63 - 1
    signed = spread("int64", (400,), *integer_range("all", "int64", 0, 1), 3, [])
    assert int(signed.min()) < -(2**62) and int(signed.max()) > 2**62
    np.testing.assert_array_equal(signed, spread("int64", (400,), *integer_range("all", "int64", 0, 1), 3, []))


@pytest.mark.parametrize(("dtype", "apart"), [("int64", {0, 1, APART}), ("uint64", {0, 1, APART}), ("int8", {0, 1})])
def test_what_is_compared_has_equal_numbers_and_neighbours(dtype: str, apart: set[int]) -> None:
    first = (np.arange(100) + 7).reshape(100, 1).astype(dtype)
    found = beside(np.full((3, 100, 1), 127, dtype), first, 1)
    chosen = found != 127
    assert 0.3 < chosen.mean() < 0.7
    assert set(abs(whole(found) - whole(first))[chosen].tolist()) == apart
    assert (beside(np.full((4,), 127, dtype), first[:0, :0], 1) == 127).all()


def test_floats_that_are_compared_are_one_step_apart() -> None:
    first = np.linspace(1, 3, 200, dtype="float32")
    found = beside(np.zeros(200, "float32"), first, 1)
    steps = {round(float(one)) for one in ((found - first) / np.spacing(first))[found != 0]}
    assert steps == {-1, 0, 1}
    largest = np.full(50, np.finfo("float32").max)
    assert set(beside(np.zeros(50, "float32"), largest, 1).tolist()) <= {0.0, float(largest[0]), np.inf} | {
        float(np.nextafter(largest[0], np.float32(0)))
    }


@pytest.mark.parametrize("name", ["Equal", "LessOrEqual", "GreaterOrEqual"])
def test_a_comparison_in_32_bits_is_noticed(name: str) -> None:
    found = [graph for strategy in of_each_integer_type(name) for graph in drawn(strategy, 20)]
    found = [graph for graph in found if graph.sources[0].port.dtype in ("int64", "uint64")]
    wrong = 0
    for graph in found:
        values = [one.values for one in graph.sources]
        narrow = [one.astype(one.dtype.name.replace("64", "32")) for one in values]
        differs = EXACT[name](*values) != EXACT[name](*narrow)
        wrong += bool(differs[np.equal(*narrow)].any())  # others have bits that 32 do not hold
    assert len(found) > 20 and 4 * wrong > len(found)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("best", [np.argmin, np.argmax])
def test_the_best_number_is_not_always_the_first_of_those_that_32_bits_cannot_tell_apart(
    dtype: str, best: Callable[[Any], Any]
) -> None:
    drawn = [spread(dtype, (4,), *integer_range("all", dtype, 0, 1), seed, []) for seed in range(200)]
    narrow = [one.astype(dtype.replace("64", "32")) for one in drawn]
    hidden = [
        best(one) for one, other in zip(drawn, narrow, strict=True) if (other == other[best(one)])[: best(one)].any()
    ]
    assert 0.05 * len(drawn) < len(hidden) < 0.5 * len(drawn) and 0 not in hidden


@pytest.mark.parametrize(
    "name",
    ["Div", "Mod", "Max", "Less", "MaxPool", "Clip", "Gather", "ReduceSum", "Slice", "DepthToSpace", "SpaceToDepth"],
)
def test_a_search_tries_large_numbers_of_every_type(name: str) -> None:
    tried: dict[str, Graph] = {}

    def attempt(graph: Graph) -> Tried:
        if graph.sources[0].port.dtype in INTEGERS:
            tried.setdefault(graph.sources[0].port.dtype, graph)
        return Tried(AGREED)

    first = of_each_integer_type(name)
    search(single(name), attempt, lambda _: False, EFFORTS["quick"], examples=1, database=Path("unused"), first=first)
    assert set(tried) == set(DECLARED[name])
    assert name != "Div" or all(len(set(result(graph).reshape(-1).tolist())) > 1 for graph in tried.values())
    for dtype, graph in tried.items():
        if name == "Clip":  # between bounds that are equal every result is right
            x, low, high = (one.values.reshape(-1) for one in graph.sources)
            assert low != high and ((x < low) | (x > high)).any()
        if name != "ReduceSum":
            assert np.prod(graph.outputs[0].shape) > 1
            assert max(map(abs, graph.sources[0].values.reshape(-1).tolist())) > np.iinfo(dtype).max // 2


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentPool]:
    folder: Path = tmp_path_factory.mktemp("pool")
    made = AgentPool(Toolchains().ensure, folder / "logs", Catalog().sources, folder / "scratch")
    yield made
    made.close()


def test_the_reference_is_exact(pool: AgentPool) -> None:
    seen: set[str] = set()
    with pool.lease("onnxruntime") as agent:
        for graph in [one for name in EXACT for one in integers(name)[:20]]:
            values = {f"in:{one.port.name}": one.values for one in graph.sources}
            answer = agent.call(
                "onnx_build", "build", {"graph": graph.structure(), "need": ""}, arrays=values, limits=LIMITS
            )
            assert not {"objection", "silent"} & set(answer.meta), (graph.text(), answer.meta)
            pack = Pack(answer.files["cases.json"], answer.files["cases.bin"])
            (got,) = pack.rows["drawn"]["sets"][0][1]
            assert whole(pack.reader.value(got)).tolist() == result(graph).tolist(), graph.text()
            seen.add(graph.sources[0].port.dtype)
    assert seen == set(INTEGERS)
