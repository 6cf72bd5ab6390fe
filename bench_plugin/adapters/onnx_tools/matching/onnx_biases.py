"""The biases of an artefact beside what the file adds: corrected, dropped, added later, or held by a layer behind."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools.matching import onnx_candidates, onnx_chains
from bench_plugin.adapters.onnx_tools.matching.onnx_candidates import Candidate, Found
from bench_plugin.agent.contract import MatchCall
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_biases",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Biases of an artefact and of its file",
    "distribution": "onnx",
    "operations": [],
    "uses": ["onnx_candidates", "onnx_chains"],
}

UNKNOWN: dict[str, object] = {"tensor": "", "found": False, "folded": False, "steps": 0.0}
NOTHING = UNKNOWN | {"tensor": "no bias"}
ZEROS = UNKNOWN | {"tensor": "zeros", "replaced": True}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


def belonging(call: MatchCall) -> dict[str, list[str]]:
    """The biases of each weight: what its layer adds, and what is added later."""
    found: dict[str, list[str]] = {}
    for name in call.names:
        if name in call.weights:
            found.setdefault(call.weights[name], []).append(name)
    return found


def uncorrected(
    values: Any, step: Any, weight: Candidate | None, graph: Any, known: Mapping[str, Any]
) -> tuple[dict[str, object], Any]:
    """The row of a bias that the tool may have corrected, and what the file adds in its place; None if not known."""
    added = None if weight is None else onnx_candidates.added_with(graph, known, weight)
    fitting = [one for one in added or () if one.values.size == values.size or _one_number(values, one.values)]
    if added is None or len(fitting) < len(added):
        return UNKNOWN, None
    if not fitting:  # the file has no bias there, and the tool adds one for what it corrects
        return UNKNOWN | {"tensor": "zeros", "found": True}, values * 0
    off = [float((abs(values.reshape(-1) - one.values.reshape(-1)) / step.reshape(-1)).max()) for one in fitting]
    nearest = fitting[off.index(min(off))]
    row = UNKNOWN | {"tensor": nearest.name, "found": True, "steps": min(off)}
    written = nearest.values if nearest.values.size == values.size else nearest.values[:1]
    return row, written.reshape(values.shape)


def _one_number(values: Any, summand: Any) -> bool:
    """Whether a single number stands for a summand [channels] that is the same for all of them."""
    return bool(values.size == 1 and (summand == summand[0]).all())


def own(values: Any, step: Any, shifts: Sequence[Candidate]) -> Found | None:
    """What the file adds in the layer of a bias, which is like no constant of the file; the nearest of several."""
    fitting = [one for one in shifts if one.values.size == values.size]
    if not fitting:
        return None
    off = [float((abs(values.reshape(-1) - one.values.reshape(-1)) / step.reshape(-1)).max()) for one in fitting]
    return fitting[off.index(min(off))], (0,)


def of_zeros(
    shifts: Sequence[Candidate], added: Sequence[tuple[str, Any, Any]], later: dict[str, Found]
) -> Found | None:
    """What stands in the file where an artefact has zeros for a bias: None where nothing does, or it is added later.

    ``added`` is (name, values, step) of the constant that the artefact adds later; it goes to ``later`` with the one
    of the ``shifts`` that it is nearest to.
    """
    if not shifts:
        return None
    fitting = [one for one in shifts if added and added[0][1].size == one.values.size]
    if not fitting:
        return shifts[0], (0,)
    [(name, values, step)] = added
    nearest = min(fitting, key=lambda one: float((abs(values.reshape(-1) - one.values) / step.reshape(-1)).max()))
    later[name] = nearest, (0,)
    return None


def moved_on(
    graph: Any, takers: Mapping[str, set[str]], rows: Sequence[Mapping[str, object]], zeros: Collection[str]
) -> set[str]:
    """The constants that every reader of their layer adds in its place: in a contraction, or as a constant apart."""
    apart = {row["tensor"] for row in rows if row["found"] and row["name"] not in zeros}
    return {name for name, nodes in takers.items() if name in apart or len(nodes) >= onnx_chains.branches(graph, name)}


def take_out(graph: Any, biased: Mapping[str, Candidate], replaced: dict[str, Any], known: Mapping[str, Any]) -> None:
    """Take from biases what goes through the weights of the file, as that is once its constants are replaced.

    A tool that adds in a layer what the file adds in front of it has multiplied that by the weights of the file. What
    the candidate held of it is out of the bias already, with the constants as the file has them.
    """
    order = {node.output[0]: place for place, node in enumerate(graph.node)}
    taken = [(name, one, *one.taken) for name, one in biased.items() if one.taken]
    for name, candidate, node, number, factor in sorted(taken, key=lambda one: order[one[2].output[0]]):
        before = _through(graph, node, number, known)
        moved = _through(graph, node, number, {**known, **_wide(replaced)}) - before
        moved = moved * factor / (1.0 if candidate.factor is None else candidate.factor)
        replaced[name] = (replaced[name] - moved.reshape(replaced[name].shape)).astype("float32")


def _through(graph: Any, node: Any, number: int, known: Mapping[str, Any]) -> Any:
    """What a contraction makes of what is added in front of it, [channels] in float64."""
    _, shift, _ = next(itertools.islice(onnx_chains.in_front(graph, node, known), number, None))
    return onnx_chains.through(node, known[node.input[1]], shift)


def _wide(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one.astype("float64") for name, one in values.items()}
