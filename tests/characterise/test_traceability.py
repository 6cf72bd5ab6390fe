"""What of a model compiled graphs still name."""

from __future__ import annotations

from bench_plugin.characterise.compliance.traceability import CompiledNode, Trace, Traceability, traceability
from bench_plugin.characterise.facts import Facts
from tests.characterise.graphs import Graph


def facts() -> Facts:
    """Conv, Relu, Conv_1 and an Identity; nodes are named apart from their outputs t0 ... t3."""
    graph = Graph((1, 3, 8, 8))
    graph.then("Conv", (1, 4, 8, 8), graph.weight((4, 3, 3, 3))).then("Relu", (1, 4, 8, 8))
    graph.then("Conv", (1, 4, 8, 8), graph.weight((4, 4, 3, 3))).then("Identity", (1, 4, 8, 8))
    for node, name in zip(graph.nodes, ("/a/Conv", "/a/Relu", "/a/Conv_1", "/a/Identity"), strict=True):
        node["name"] = name
    return graph.facts()


def statuses(found: Traceability) -> dict[str, Trace]:
    return {node.name: node.status for node in found.nodes}


def test_names_tensors_and_origins_name_a_node() -> None:
    found = traceability(
        facts(),
        [
            CompiledNode("fused /a/Conv", "FusedConv", tensors=("t1",)),  # the name of one, the output of another
            CompiledNode("layer 7", "Convolution", names=("/a/Conv_1",)),
        ],
    )
    assert statuses(found) == {
        "/a/Conv": Trace.FUSED, "/a/Relu": Trace.FUSED, "/a/Conv_1": Trace.TRACED, "/a/Identity": Trace.LOST,
    }  # fmt: skip
    assert found.shares == {"traced": 0.25, "fused into": 0.5, "lost": 0.25} and found.named == 0.75
    assert found.nodes[0].by == ("fused /a/Conv (FusedConv)",)


def test_the_longer_name_counts_where_one_stands_in_another() -> None:
    found = traceability(facts(), [CompiledNode("/a/Conv_1_nchwc", "Conv")])
    assert statuses(found)["/a/Conv_1"] is Trace.TRACED and statuses(found)["/a/Conv"] is Trace.LOST
    found = traceability(facts(), [CompiledNode("/a/Conv_nchwc", "Conv")])
    assert statuses(found)["/a/Conv"] is Trace.TRACED


def test_a_node_that_one_compiled_node_names_alone_is_traced_whatever_others_name() -> None:
    compiled = [CompiledNode("both", "Sum", names=("/a/Conv", "/a/Relu")), CompiledNode("/a/Relu", "Relu")]
    found = traceability(facts(), compiled)
    assert statuses(found)["/a/Relu"] is Trace.TRACED and statuses(found)["/a/Conv"] is Trace.FUSED


def test_a_compiled_node_of_another_operator_of_the_model_has_taken_it_in() -> None:
    found = traceability(facts(), [CompiledNode("t1_nchwc", "Conv")])  # t1 is the output of the activation
    assert statuses(found)["/a/Relu"] is Trace.FUSED and statuses(found)["/a/Conv"] is Trace.LOST
    found = traceability(facts(), [CompiledNode("t1", "Activation")])  # in the tool's own words
    assert statuses(found)["/a/Relu"] is Trace.TRACED


def test_other_names_name_nothing() -> None:
    found = traceability(facts(), [CompiledNode("conv_0", "Convolution", tensors=("1", "b/a/Conv"))])
    assert set(statuses(found).values()) == {Trace.LOST} and found.compiled == 1


def test_nodes_of_constants_are_left_out() -> None:
    graph = Graph((1, 4))
    graph.tensors["turned"] = {"dtype": "float", "shape": [4, 4]}
    stored = graph.weight((4, 4))
    graph.nodes.append(
        {"name": "turn", "operator": "Transpose", "domain": "ai.onnx", "inputs": [stored], "outputs": ["turned"],
         "attributes": {}, "within": ""}
    )  # fmt: skip
    graph.then("MatMul", (1, 4), "turned")
    found = traceability(graph.facts(), [CompiledNode("t1", "MatMul")])
    assert statuses(found) == {"t1": Trace.TRACED}
