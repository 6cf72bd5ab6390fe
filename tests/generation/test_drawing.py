"""Graphs that are drawn: valid ones, of every operator, with every kind of edge value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bench_plugin.generation.catalogue import OPERATORS
from bench_plugin.generation.graphs import Graph, read_graph
from bench_plugin.generation.strategies import FAMILIES, NODES, graphs, single
from bench_plugin.generation.values import filled
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Limits
from bench_plugin.reach.processes.supervisor import AgentPool

VALID = 200
LIMITS = Limits(60.0, 4 << 30)


def drawn(strategy: Any, count: int) -> list[Graph]:
    """So many different graphs of a strategy, always the same."""
    found: dict[str, Graph] = {}

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def collect(graph: Graph) -> None:
        found[graph.digest] = graph

    collect()
    return list(found.values())


@pytest.fixture(scope="module")
def every_operator() -> dict[str, list[Graph]]:
    return {name: drawn(single(name), 12) for name in OPERATORS}


def test_at_least_sixty_operators() -> None:
    assert len(OPERATORS) >= 60
    assert {row.family for row in OPERATORS.values()} <= set(FAMILIES)


def test_every_operator_is_drawn_alone(every_operator: dict[str, list[Graph]]) -> None:
    for name, found in every_operator.items():
        assert {graph.operators for graph in found} == {(name,)}


def test_graphs_of_several_nodes_are_connected() -> None:
    found = drawn(graphs(), 60)
    assert all(NODES[0] <= len(graph.nodes) <= NODES[1] for graph in found)
    joined = [graph for graph in found if any(name.startswith("r") for node in graph.nodes for name in node.inputs)]
    assert len(joined) > len(found) / 2


def test_sizes_and_edge_values_appear(every_operator: dict[str, list[Graph]]) -> None:
    sources = [one for found in every_operator.values() for graph in found for one in graph.sources]
    sizes = {size for one in sources for size in one.port.shape}
    assert {0, 1, 2} <= sizes
    floats = np.concatenate([one.values.reshape(-1) for one in sources if one.port.dtype == "float32"])
    tiny = np.finfo(np.float32).tiny
    assert np.isnan(floats).any() and np.isposinf(floats).any() and np.isneginf(floats).any()
    assert (np.signbit(floats) & (floats == 0)).any()
    assert ((floats != 0) & (abs(floats) < tiny)).any()
    integers = np.concatenate([one.values.reshape(-1) for one in sources if one.port.dtype == "int64"])
    assert {np.iinfo(np.int64).min, np.iinfo(np.int64).max} <= set(integers.tolist())


def test_operators_without_a_rule_for_nan_never_get_one(every_operator: dict[str, list[Graph]]) -> None:
    for name, found in every_operator.items():
        if OPERATORS[name].edges in ("none", "mild", "finite"):
            values = [one.values for graph in found for one in graph.sources if one.values.dtype.kind == "f"]
            assert all(np.isfinite(array).all() for array in values), name


def test_plain_data_says_everything(every_operator: dict[str, list[Graph]]) -> None:
    for found in every_operator.values():
        for graph in found:
            again = read_graph(json.loads(json.dumps(graph.plain())))
            assert again.digest == graph.digest
            for one, other in zip(graph.sources, again.sources, strict=True):
                assert one.values.dtype == other.values.dtype
                np.testing.assert_array_equal(one.values, other.values)


def test_values_keep_their_bounds_and_edges_their_places() -> None:
    values = filled("float32", (2, 3), -1.0, 1.0, 7, [(4, math.inf)])
    assert values.shape == (2, 3) and np.isposinf(values[1, 1])
    assert (abs(values[np.isfinite(values)]) <= 1).all()
    np.testing.assert_array_equal(filled("int32", (3,), 0, 4, 0, []), [1, 2, 3])


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentPool]:
    folder: Path = tmp_path_factory.mktemp("pool")
    made = AgentPool(Toolchains().ensure, folder / "logs", Catalog().sources, folder / "scratch")
    yield made
    made.close()


def test_every_drawn_graph_is_valid(pool: AgentPool, every_operator: dict[str, list[Graph]]) -> None:
    several = drawn(graphs(), VALID // 2)
    alone = [graph for found in every_operator.values() for graph in found[:2]]
    objections, silent = [], []
    with pool.lease("onnxruntime") as agent:
        for graph in [*several, *alone]:
            values = {f"in:{one.port.name}": one.values for one in graph.sources}
            answer = agent.call(
                "onnx_build", "build", {"graph": graph.structure(), "need": ""}, arrays=values, limits=LIMITS
            )
            if "objection" in answer.meta:
                objections.append(f"{answer.meta['objection']}: {graph.text()}")
            if "silent" in answer.meta:
                silent.append(f"{answer.meta['silent']}: {graph.text()}")
    assert len(several) + len(alone) >= VALID
    assert objections == []
    assert len(silent) < VALID / 20, silent
