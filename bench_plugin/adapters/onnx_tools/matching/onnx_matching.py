"""What a converter wrote against what the file says: constants that were read back, found among those of the file."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench_plugin.adapters.onnx_tools.matching import (
    onnx_alike,
    onnx_biases,
    onnx_candidates,
    onnx_norms,
    onnx_replaced,
)
from bench_plugin.adapters.onnx_tools.matching.onnx_alike import HALF
from bench_plugin.adapters.onnx_tools.matching.onnx_biases import NOTHING, UNKNOWN, ZEROS
from bench_plugin.adapters.onnx_tools.matching.onnx_candidates import Candidate, Found
from bench_plugin.adapters.onnx_tools.matching.onnx_chains import CONTRACTIONS
from bench_plugin.adapters.onnx_tools.rounding import onnx_computed
from bench_plugin.adapters.onnx_tools.shared import onnx_grouped
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.wire import Array

ADAPTER = {
    "name": "onnx_matching",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Constants read back, matched with the file",
    "distribution": "onnx",
    "operations": ["match"],
    "uses": [
        "onnx_alike",
        "onnx_biases",
        "onnx_candidates",
        "onnx_chains",
        "onnx_computed",
        "onnx_grouped",
        "onnx_norms",
        "onnx_replaced",
    ],
    "errors": [{"package": "onnx"}],
}

Row = dict[str, Any]


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def match(self, call: MatchCall) -> Reply:
        """The nearest constant of ``model.onnx`` for each, and the file with the real values of what is alike."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        model = onnx.load(call.files["model.onnx"])
        onnx_computed.store(onnx, model, unread=False)
        onnx_computed.store_of_shapes(onnx, model, rank=2)
        copies = _own_divisors(onnx, model)
        matching = _Matching(call, _constants(onnx, model))
        for name in call.names:
            matching.add(name)
        unmatched = matching.finish(copies)
        matching.write(onnx)
        path = call.path("rebuilt.onnx")
        onnx.save(model, path)
        said = {"matches": matching.rows, "unmatched": sorted(unmatched), "twins": matching.twins()}
        return Reply(said, matching.arrays, files={"rebuilt.onnx": path})


@dataclass(frozen=True)
class _Constants:
    """The constants of the file: their values by name, and every way in which a converter may write one.

    ``inexact`` says how far those that are computed in narrow types may be off, as a share of the largest value, and
    ``outputs`` which axes count the outputs of contractions.
    """

    graph: Any
    known: Mapping[str, Any]
    inexact: Mapping[str, float]
    candidates: list[Candidate]
    outputs: Mapping[str, set[int]]


def _constants(onnx: Any, model: Any) -> _Constants:
    known = onnx_candidates.known_values(onnx, model)
    candidates = list(onnx_candidates.candidates(model.graph, known))
    factors = _factors(model.graph)
    candidates.sort(key=lambda one: not one.inverse and one.name not in factors)  # of equal ones a divisor is last
    inexact = onnx_candidates.inexact(onnx, model)
    return _Constants(model.graph, known, inexact, candidates, onnx_alike.outputs_of(model.graph))


class _Matching:
    """What is known of the constants of an artefact, one after the other, and what replaces those of the file.

    ``rows`` say what each constant is in the file, and ``arrays`` have what the file would write in its place.
    """

    def __init__(self, call: MatchCall, file: _Constants) -> None:
        self.rows: list[Row] = []
        self.arrays: dict[str, Array] = {}
        self._call = call
        self._file = file
        self._belonging = onnx_biases.belonging(call)
        self._tensors: dict[str, Candidate] = {}  # what was found, by the name in the artefact
        self._later: dict[str, Found] = {}  # biases that the artefact adds behind the layer of the file
        self._zeros: dict[str, set[str]] = {}  # what the file adds where the artefact has zeros
        self._takers: dict[str, set[str]] = {}  # the contractions that hold a constant of a layer in front
        self._replaced: dict[str, Any] = {}  # the values that were read back, by the name in the file
        self._vectors: set[str] = set()  # those of one dimension that are replaced too
        self._biased: dict[str, Candidate] = {}  # those that hold what is added in front of their layer
        self._attributes: dict[tuple[str, str, float], float] = {}
        self._pieces: dict[str, dict[tuple[int, int], tuple[Row, Any]]] = {}
        self._norms: dict[tuple[str, int], tuple[Row, Any]] = {}  # what a norm multiplies by and adds

    def add(self, name: str) -> None:
        """Find a constant of the artefact among those of the file."""
        values, step = self._call.fixed[f"const:{name}"], self._call.fixed[f"step:{name}"]
        weight = self._tensors.get(self._call.weights.get(name, ""))
        if name in self._call.numbers:
            self._compare(name, *self._number(name, values, step))
        elif name in self._call.corrected:
            bias = onnx_biases.uncorrected(values, step, weight, self._file.graph, self._file.known)
            self._compare(name, *bias)
        elif (found := self._found(name, values, step, weight)) is not None:
            self._take(name, values, step, found)
        elif weight and self._is_dropped(name, values):
            self.rows.append(NOTHING | {"name": name})
        else:  # zeros that are no weight are nothing, as behind a norm without a bias
            nothing = not values.any() and name not in self._call.weights.values()
            self.rows.append((ZEROS if nothing else UNKNOWN) | {"name": name})

    def finish(self, copies: Mapping[str, str]) -> set[str]:
        """Settle what the constants say together; returns the weights of the file that none of them is.

        ``copies`` are constants of the file that divide, and the constants that they are copies of.
        """
        file = self._file
        moved = onnx_biases.moved_on(file.graph, self._takers, self.rows, self._zeros)
        for name in (one for one, added in self._zeros.items() if added and added <= moved):  # a layer behind adds it
            self.rows = [NOTHING | {"name": name} if row["name"] == name else row for row in self.rows]
            self.arrays.pop(f"file:{name}", None)
        for name, parts in self._pieces.items():
            self._put_together(name, parts)
        self._put_back_norms()
        self._compare_wrong()
        onnx_biases.take_out(file.graph, self._biased, self._replaced, file.known)
        often = _read_often(file.graph)
        for row in self.rows:
            if row.get("replaced") and row["tensor"] in often:
                row["shared"] = True
        without = {copy for copy, name in copies.items() if name in self._replaced}  # the tool divides by it itself
        found = {*self._replaced, *self.twins()}
        return _weights(file.graph, file.known) - found - without - moved

    def twins(self) -> dict[str, str]:
        """The other names under which the file has what was read back once: other name -> the replaced one."""
        return onnx_replaced.of_twins(self._file.known, self._replaced)

    def write(self, onnx: Any) -> None:
        """Write what was read back into the file."""
        twins = self.twins() if self._call.twins else {}
        values = self._replaced | {twin: self._replaced[name] for twin, name in twins.items()}
        vectors = self._vectors | {twin for twin, name in twins.items() if name in self._vectors}
        onnx_replaced.write(onnx, self._file.graph, values, vectors)
        onnx_replaced.write_attributes(self._file.graph, self._attributes)

    def _compare(self, name: str, row: Row, written: Any) -> None:
        """Note a constant that is compared with the file's and does not replace it."""
        self.rows.append(row | {"name": name})
        if written is not None:
            self.arrays[f"file:{name}"] = from_numpy(written)

    def _number(self, name: str, values: Any, step: Any) -> tuple[Row, Any]:
        """The row of numbers that need not be the file's, and what that has in their place; None for nothing.

        A number at an end of its integers stands for one of the file beyond that end, too, and a small one for 0.
        """
        candidates = self._file.candidates
        if values.size > 1:
            found = onnx_alike.nearest(values, step, candidates, self._file.outputs)
            if found is None:
                return UNKNOWN, None
            steps = onnx_alike.steps_off(values, step, found)
            row = UNKNOWN | {"tensor": found[0].name, "found": True, "steps": steps}
            return row, onnx_alike.placed(found[0].values, found[1], values.shape)
        single = [one for one in candidates if one.values.size == 1]
        above = [float((one.values.reshape(()) - values.reshape(())) / step.reshape(())) for one in single]
        off = [abs(one) for one in above]
        if name in self._call.highest:
            off = [max(0.0, -one) for one in above]
        elif name in self._call.lowest:
            off = [max(0.0, one) for one in above]
        fitting = [place for place, steps in enumerate(off) if steps <= HALF]
        if not fitting:
            return (UNKNOWN if values.any() else ZEROS), None
        nearest = single[min(fitting, key=lambda place: abs(above[place]))]
        return UNKNOWN | {"tensor": nearest.name, "found": True}, nearest.values.reshape(values.shape)

    def _is_first_bias(self, name: str) -> bool:
        return name in self._belonging.get(self._call.weights.get(name, ""), [])[:1]

    def _is_dropped(self, name: str, values: Any) -> bool:
        """Whether a layer adds zeros: its bias was dropped or is added later, or there never was one."""
        return self._is_first_bias(name) and not values.any()

    def _found(self, name: str, values: Any, step: Any, weight: Candidate | None) -> Found | None:
        """The constant of the file that this one is; None if the file has none like it."""
        graph, known = self._file.graph, self._file.known
        shifts: list[Candidate] = []
        if weight is not None and self._is_first_bias(name):
            shifts = list(onnx_candidates.shifts(graph, known, weight))
        if self._is_dropped(name, values):
            return self._of_zeros(name, shifts)
        found = self._later.get(name) or self._alike(name, values, step) or onnx_biases.own(values, step, shifts)
        return found or onnx_alike.ones(values, step, self._file.candidates, graph)

    def _of_zeros(self, name: str, shifts: list[Candidate]) -> Found | None:
        """What the file adds in the layer that adds these zeros; None for nothing, and for what is added later."""
        fixed = self._call.fixed
        others = self._belonging[self._call.weights[name]][1:2]
        later = [(one, fixed[f"const:{one}"], fixed[f"step:{one}"]) for one in others]
        found = onnx_biases.of_zeros(shifts, later, self._later)
        if found:
            self._zeros[name] = {one.name for one in shifts}
        return found

    def _alike(self, name: str, values: Any, step: Any) -> Found | None:
        file = self._file
        every = [*file.candidates, *onnx_candidates.first_rows(file.graph, file.known, values.shape)]
        if name in self._call.floating:
            return onnx_alike.closest(values, every)
        return onnx_alike.nearest(values, step, every, file.outputs)

    def _take(self, name: str, values: Any, step: Any, found: Found) -> None:
        """Note the constant of the file that one of the artefact is, and what it says in the file's place."""
        candidate, order = found
        written = onnx_alike.placed(candidate.values, order, values.shape)
        row = self._row(values, step, candidate, written) | {"name": name}
        if candidate.taken and row["steps"] <= HALF:
            for taken in candidate.moved:
                self._takers.setdefault(taken, set()).add(candidate.taken[0].output[0])
        self._tensors[name] = candidate
        self.arrays[f"file:{name}"] = from_numpy(written)
        self.rows.append(row)
        real = onnx_alike.back(values, candidate, order).astype("float32")
        if candidate.piece is not None:
            self._pieces.setdefault(candidate.name, {})[candidate.piece] = row, real
            return
        if candidate.norm is not None:
            self._norms[candidate.norm] = row, real
            return
        if candidate.attribute:
            self._attributes[*candidate.attribute, float(candidate.values)] = float(real)
        if candidate.attribute or candidate.name == onnx_alike.REPEATING:
            row["replaced"] = True
            return
        own = onnx_replaced.note(self._replaced, self._file.known, candidate.name, real)
        weight = name in self._call.weights
        if own and not weight and onnx_replaced.is_constant(candidate, order, values.shape, self._file.known):
            self._vectors.add(own)
            row["replaced"] = True
            if candidate.taken:
                self._biased[own] = candidate

    def _row(self, values: Any, step: Any, candidate: Candidate, written: Any) -> Row:
        """How far a constant is off what the file would write, and what kind of error that is."""
        numpy = importlib.import_module("numpy")
        slack = self._file.inexact.get(candidate.name, onnx_alike.SINGLE)
        slack *= max(onnx_alike.extent(written), candidate.terms)
        steps = max(0.0, onnx_alike.most_off(values, written, step, slack))
        row: Row = {"tensor": candidate.name, "found": True, "folded": candidate.factor is not None, "steps": steps}
        if not values.any() and written.any():
            row["missing"] = True
        elif steps > HALF and onnx_alike.is_clipped(values, written, step, slack):
            row["clipped"] = True
        if candidate.name in self._file.outputs:  # a sum's or a Concat's constant may have the step of another range
            real = numpy.where(step > 0, values, 0.0)  # numbers that are all equal have no step, and reach nothing
            row["reach"] = max(0.0, onnx_alike.most_off(real, numpy.broadcast_to(0.0, values.shape), step))
        return row

    def _compare_wrong(self) -> None:
        """Compare weights that are like none of the file with those that are left, of which they have most channels."""
        found = {row["tensor"] for row in self.rows}
        left = [one for one in self._file.candidates if one.name not in found]
        for place, row in enumerate(self.rows):
            name = row["name"]
            values, step = self._call.fixed[f"const:{name}"], self._call.fixed[f"step:{name}"]
            if row["tensor"] or values.ndim < 2 or name in self._call.weights or name in self._call.floating:
                continue
            wrong = onnx_alike.mostly(values, step, left, self._file.outputs)
            if wrong is not None:
                written = onnx_alike.placed(wrong[0].values, wrong[1], values.shape)
                self.rows[place] = self._row(values, step, wrong[0], written) | {"name": name}
                self.arrays[f"file:{name}"] = from_numpy(written)

    def _put_back_norms(self) -> None:
        """Replace the constants of norms by those that give what the artefact multiplies by and adds."""
        read = {key: real for key, (_, real) in self._norms.items()}
        vectors = {name: self._replaced[name] for name in self._vectors & self._replaced.keys()}
        for name, values, key in onnx_norms.put_back(self._file.graph, read, vectors, self._file.known):
            self._replaced[name] = values
            self._vectors.add(name)
            self._norms[key][0]["replaced"] = True

    def _put_together(self, name: str, parts: Mapping[tuple[int, int], tuple[Row, Any]]) -> None:
        """Replace the weights of a grouped convolution by the parts that were read back, if none is missing."""
        pieces = {place: real for place, (_, real) in parts.items()}
        whole = onnx_grouped.put_together(self._file.known[name], pieces)
        if whole is not None:
            self._replaced[name] = whole
        for row, _ in parts.values():
            row.update(UNKNOWN if whole is None else {"replaced": True})
            if whole is None:
                self.arrays.pop(f"file:{row['name']}")


def _own_divisors(onnx: Any, model: Any) -> dict[str, str]:
    """Give each constant that is a divisor and something else, too, a copy that is the divisor: copy -> constant.

    A tool may store both the constant and one over it, each with a rounding of its own.
    """
    graph = model.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    stored |= {node.output[0]: node.attribute[0].t for node in graph.node if node.op_type == "Constant"}
    divisions = [node for node in graph.node if node.op_type == "Div" and node.input[1] in stored]
    factors = _factors(graph)
    copies: dict[str, str] = {}
    for node in divisions:
        name = node.input[1]
        if name not in factors:
            continue
        node.input[1] = copy = f"{name}/divisor"
        if copy not in copies:
            copies[copy] = name
            graph.initializer.append(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(stored[name]), copy))
    return copies


def _factors(graph: Any) -> set[str]:
    """What nodes read, but for divisors: what is read as a divisor alone is not among them."""
    return {
        name
        for node in graph.node
        for place, name in enumerate(node.input)
        if not (node.op_type == "Div" and place == 1)
    }


def _weights(graph: Any, known: Mapping[str, Any]) -> set[str]:
    """The constants that a node reads, but for biases of contractions and what a BatchNormalization reads.

    Computed ones are not among them.
    """
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {node.output[0] for node in graph.node if node.op_type == "Constant"}
    read = set()
    for node in graph.node:
        few = node.op_type == "BatchNormalization" or node.op_type in CONTRACTIONS
        read |= set(node.input[: 2 if node.op_type in CONTRACTIONS else 1] if few else node.input)
    return stored & read & set(known)


def _read_often(graph: Any) -> set[str]:
    """What several nodes read, or one node several times, those of inner graphs among them."""
    counted = Counter(_reads(graph))
    return {name for name, times in counted.items() if times > 1}


def _reads(graph: Any) -> Iterator[str]:
    for node in graph.node:
        yield from node.input
        for one in node.attribute:
            if one.HasField("g"):
                yield from _reads(one.g)
