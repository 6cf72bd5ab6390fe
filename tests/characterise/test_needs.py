"""What models need, against counts made by hand and against published ones."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.needs import Memory, Needs, intensity, memory, needs
from bench_plugin.characterise.rules.registry import CONTROL, RULES, WITHOUT_RULE
from tests.characterise.graphs import Graph, cnv, mlp

ROOT = Path(__file__).parents[2]
# By hand: 2 * output height * width * Cout * kernel * Cin, layer by layer.
CNV = [
    2 * 30 * 30 * 128 * 9 * 3, 2 * 28 * 28 * 128 * 9 * 128, 2 * 12 * 12 * 256 * 9 * 128, 2 * 10 * 10 * 256 * 9 * 256,
    2 * 3 * 3 * 512 * 9 * 256, 2 * 1 * 1 * 512 * 9 * 512, 2 * 512 * 1024, 2 * 1024 * 1024, 2 * 1024 * 10,
]  # fmt: skip


def of(graph: Graph, **more: int) -> Needs:
    return needs(graph.facts(), **more)


def others(graph: Graph) -> dict[str, int]:
    found = of(graph)
    assert (found.operations, found.lower_bound) == (0, False), found.not_counted
    return dict(found.by_kind)


def test_the_small_topologies_agree_to_the_operation() -> None:
    found = needs(cnv())
    assert [one.operations for one in found.layers if one.operations] == CNV
    assert found.operations == sum(CNV)
    assert found.weights == sum(
        (128 * 27, 128 * 1152, 256 * 1152, 256 * 2304, 512 * 2304, 512 * 4608, 512 * 1024, 1024 * 1024, 1024 * 10)
    )
    found = needs(mlp())
    assert found.weights == 784 * 2048 + 2 * 2048 * 2048 + 2048 * 10
    assert found.operations == 2 * found.weights


# Topology, GOPs of appendix A, millions of weights, operations per byte at 8 bits (tables 6.1, 6.4 and 6.5 of M. Blott,
# "Benchmarking Neural Networks on Heterogeneous Hardware", PhD thesis, Trinity College Dublin, 2021).
@pytest.mark.parametrize(
    ("facts", "gops", "millions", "per_byte"), [(cnv(), 0.46945, 6.16, 76.24), (mlp(), 0.020029, 10.01, 2.0)]
)
def test_the_small_topologies_agree_with_the_published_figures(
    facts: Facts, gops: float, millions: float, per_byte: float
) -> None:
    found = needs(facts, bits=8)
    assert found.operations / 1e9 == pytest.approx(gops, rel=2e-4)
    assert found.weights / 1e6 == pytest.approx(millions, abs=0.006)
    assert intensity(found)["weights off chip, activations on chip"] == pytest.approx(per_byte, rel=2e-3)


def test_a_batch_multiplies_operations_and_intensity_and_no_weights() -> None:
    one, eight = needs(cnv(1)), needs(cnv(8), batch=8)
    assert eight.operations == 8 * one.operations and eight.weights == one.weights
    name = "weights off chip, activations on chip"
    assert intensity(eight)[name] == 8 * intensity(one)[name]


def test_weights_that_the_file_stores_in_fewer_bits_need_less_traffic() -> None:
    found = {}
    for dtype in ("float", "float16", "int8"):
        graph = Graph((1, 64))
        found[dtype] = intensity(of(graph.then("MatMul", (1, 10), graph.weight((64, 10), dtype))))
    name = "weights off chip, activations on chip"
    assert [found[dtype][name] for dtype in found] == [0.5, 1.0, 2.0]


def test_groups_and_biases() -> None:
    graph = Graph((1, 32, 10, 10))
    graph.then("Conv", (1, 32, 10, 10), graph.weight((32, 1, 3, 3)), graph.weight((32,)))
    found = of(graph)
    assert (found.operations, found.weights, found.parameters) == (2 * 3200 * 9, 288, 320)
    assert found.by_kind == {"additions": 3200}


def test_a_transposed_convolution_counts_from_its_input() -> None:
    graph = Graph((2, 16, 5, 5))
    graph.then("ConvTranspose", (2, 8, 11, 11), graph.weight((16, 8, 3, 3)))
    assert of(graph).operations == 2 * (2 * 16 * 25) * (8 * 9)


def test_a_product_of_two_activations_is_no_layer() -> None:
    graph = Graph((4, 10, 64))
    graph.tensors["y"] = {"dtype": "float", "shape": [4, 64, 10]}
    found = others(graph.then("MatMul", (4, 10, 10), "y"))
    assert found == {"additions": 4 * 10 * 10 * 64, "multiplications": 4 * 10 * 10 * 64}


def test_a_weight_behind_a_node_of_constants_is_a_weight_and_the_node_costs_nothing() -> None:
    graph = Graph((1, 64))
    stored = graph.weight((10, 64))
    graph.tensors["turned"] = {"dtype": "float", "shape": [64, 10]}
    graph.nodes.append(
        {"name": "turn", "operator": "Mul", "domain": "ai.onnx", "inputs": [stored, stored], "outputs": ["turned"],
         "attributes": {}, "within": ""}
    )  # fmt: skip
    found = of(graph.then("MatMul", (1, 10), "turned"))
    assert (found.operations, found.weights, found.parameters, found.other_operations) == (1280, 640, 640, 0)


# Of x [1, 4, 6, 6] with 144 elements.
KINDS = {
    ("Relu", (1, 4, 6, 6)): {"comparisons": 144},
    ("Sigmoid", (1, 4, 6, 6)): {"additions": 144, "divisions": 144, "exponentials": 144},
    ("GlobalAveragePool", (1, 4, 1, 1)): {"additions": 144, "divisions": 4},
    ("ReduceMean", (1, 4)): {"additions": 144, "divisions": 4},
    ("Softmax", (1, 4, 6, 6)): {"additions": 288, "divisions": 144, "comparisons": 144, "exponentials": 144},
    ("Reshape", (1, 144)): {},
    ("Transpose", (6, 6, 4, 1)): {},
}


@pytest.mark.parametrize(("operator", "shape"), KINDS)
def test_other_operations_by_kind(operator: str, shape: tuple[int, ...]) -> None:
    assert others(Graph((1, 4, 6, 6)).then(operator, shape)) == KINDS[operator, shape]


def test_pools_count_their_window() -> None:
    graph = Graph((1, 4, 6, 6)).then("AveragePool", (1, 4, 3, 3), attributes={"kernel_shape": [2, 2]})
    assert others(graph) == {"additions": 36 * 4, "divisions": 36}


def test_recurrent_layers_meet_each_weight_once_per_step_and_sample() -> None:
    graph = Graph((16, 2, 8))
    graph.then("LSTM", (16, 1, 2, 32), graph.weight((1, 128, 8)), graph.weight((1, 128, 32)))
    assert others(graph)["multiplications"] == 16 * 2 * (128 * 8 + 128 * 32) + 16 * 2 * 32 * 3


def test_what_has_no_rule_or_no_shape_is_named_and_makes_a_lower_bound() -> None:
    graph = Graph((1, 4)).then("TopK", (1, 2)).then("Gelu", (1, 2), domain="com.microsoft").then("Relu", (1, None))
    found = of(graph)
    assert found.lower_bound
    assert found.not_counted == {
        "Gelu: an operator of domain com.microsoft": 1, "Relu: the shape of output 0 is not known": 1,
        "TopK: no rule": 1,
    }  # fmt: skip


def test_a_loop_is_counted_once_and_says_so() -> None:
    graph = Graph((4,)).then("Loop", (4,)).then("Relu", (4,), within="body of Loop")
    found = of(graph)
    assert found.not_counted == {"Loop: its body is counted once": 1} and found.by_kind == {"comparisons": 4}


def test_memory_at_a_number_of_bits() -> None:
    graph = Graph((1, 100))
    graph.then("MatMul", (1, 50), graph.weight((100, 50))).then("Relu", (1, 50))
    assert memory(graph.facts()).weights == 20_000
    small = memory(graph.facts(), 4)
    assert (small.weights, small.tensors) == (2500, 50 + 25 + 25)


def test_alive_at_once_are_inputs_and_outputs_of_a_node_and_what_is_needed_later() -> None:
    graph = Graph((100,)).then("Relu", (100,)).then("Relu", (100,)).then("Add", (100,), "t0")
    assert memory(graph.facts(), 8) == Memory(weights=0, tensors=400, alive=300)


def test_integers_keep_their_own_size() -> None:
    graph = Graph((1, 3))
    graph.then("Gather", (1, 3), graph.weight((7,), "int64"))
    assert memory(graph.facts(), 4).weights == 56


def test_every_operator_of_the_corpus_has_a_rule_or_is_named() -> None:
    rows = (ROOT / "fixtures/operators/corpus.csv").read_text().splitlines()[1:]
    found = {operator for row in rows for operator in row.split(",")[5].split()} - {"Constant"}
    own = {operator for operator in found if "." not in operator}
    assert len(own) > 150
    assert own - set(RULES) - set(CONTROL) == WITHOUT_RULE
    assert not WITHOUT_RULE & set(RULES)


def test_no_figure_is_infinite() -> None:
    found = intensity(of(Graph((1, 3)).then("Relu", (1, 3))))
    assert all(math.isfinite(figure) for figure in found.values())
