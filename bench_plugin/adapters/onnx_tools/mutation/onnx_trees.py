"""The mutations of decision trees in an ONNX graph: a tree is left out, and splits are turned at equality."""

from __future__ import annotations

from typing import Any

from bench_plugin.adapters.onnx_tools.mutation.onnx_editing import Graph, Mutated, site_of, together
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_trees",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Decision trees of ONNX graphs",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_editing"],
}

PREFIXES = {"TreeEnsembleRegressor": "target", "TreeEnsembleClassifier": "class"}  # of the attributes of their leaves
ENSEMBLE = "TreeEnsemble"  # in place of both since version 5 of ai.onnx.ml
TREES = (*PREFIXES, ENSEMBLE)
# A split at equality: the attribute nodes_modes has names, or since version 5 numbers in a tensor of uint8.
TURNED = {
    b"BRANCH_LEQ": b"BRANCH_LT", b"BRANCH_LT": b"BRANCH_LEQ", b"BRANCH_GTE": b"BRANCH_GT", b"BRANCH_GT": b"BRANCH_GTE",
}  # fmt: skip
TURNED_NUMBERS = {0: 1, 1: 0, 2: 3, 3: 2}  # LEQ, LT, GTE, GT


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def left_out(graph: Graph, turn: int) -> Mutated:
    """The weights of all leaves of one tree set to 0: of the tree in the middle at turn 0, then of those behind it."""
    nodes = graph.nodes(*TREES)
    if not nodes:
        return None
    node = nodes[len(nodes) // 2]
    name, weights, trees = _leaves(graph, node)
    ids = list(dict.fromkeys(trees))
    if turn >= len(ids):
        return None
    chosen = ids[(len(ids) // 2 + turn) % len(ids)]
    kept = [0 if tree == chosen else weight for weight, tree in zip(weights, trees, strict=True)]
    return f"tree {chosen} of {site_of(node)}", _with(graph, node, name, kept)


def turned(graph: Graph, turn: int) -> Mutated:
    """Every split of all trees turned at equality: < for <=, > for >=, and the other way round."""
    changed = [(node, modes) for node in graph.nodes(*TREES) if (modes := _turned(graph, node)) is not None]
    if not changed:
        return None
    undoes = [_with(graph, node, "nodes_modes", modes) for node, modes in changed]
    return f"{len(undoes)} nodes", together(undoes)


def _turned(graph: Graph, node: Any) -> list[Any] | None:
    """The modes of an ensemble, turned at equality, or None where none of them compares so."""
    modes = _listed(graph, graph.value(node, "nodes_modes", []))
    other = [TURNED_NUMBERS.get(one, one) if node.op_type == ENSEMBLE else TURNED.get(one, one) for one in modes]
    return other if other != modes else None


def _leaves(graph: Graph, node: Any) -> tuple[str, list[float], list[int]]:
    """Of an ensemble's leaves the attribute that holds their weights, the weights, and the tree that each is of."""
    if node.op_type == ENSEMBLE:
        return "leaf_weights", _listed(graph, graph.value(node, "leaf_weights", [])), _trees(graph, node)
    prefix = PREFIXES[node.op_type]
    names = (f"{prefix}_weights", f"{prefix}_weights_as_tensor")  # the latter for weights of float64
    name = next((one for one in names if graph.value(node, one, None) is not None), names[0])
    weights = _listed(graph, graph.value(node, name, []))
    return name, weights, list(graph.value(node, f"{prefix}_treeids", []))


def _trees(graph: Graph, node: Any) -> list[int]:
    """For each leaf of a TreeEnsemble the number of its tree: the leaves are found from the roots."""
    names = ("nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")
    truly, falsely, leaf_if_true, leaf_if_false = (list(graph.value(node, name, [])) for name in names)
    found: dict[int, int] = {}
    for tree, root in enumerate(graph.value(node, "tree_roots", [])):
        ahead = [root]
        while ahead:
            split = ahead.pop()
            for target, leaf in ((truly, leaf_if_true), (falsely, leaf_if_false)):
                if leaf[split]:
                    found[target[split]] = tree
                elif target[split] != split:
                    ahead.append(target[split])
    count = len(_listed(graph, graph.value(node, "leaf_weights", [])))
    return [found.get(leaf, -1) for leaf in range(count)]  # -1: a leaf of no tree


def _listed(graph: Graph, value: Any) -> list[Any]:
    """The elements of an attribute that is a list or a tensor of one axis."""
    if isinstance(value, graph.onnx.TensorProto):
        return list(graph.onnx.numpy_helper.to_array(value).tolist())
    return list(value)


def _with(graph: Graph, node: Any, name: str, values: list[Any]) -> Any:
    """Set a list, or the elements of a tensor of one axis; gives what undoes it."""
    before = graph.value(node, name, None)
    if not isinstance(before, graph.onnx.TensorProto):
        return graph.attribute(node, name, values)
    made = graph.onnx.helper.make_tensor(before.name, before.data_type, [len(values)], values)
    return graph.attribute(node, name, made)
