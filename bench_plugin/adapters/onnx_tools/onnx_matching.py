"""What a converter wrote against what the file says: constants that were read back, found among those of the file."""

from __future__ import annotations

import importlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_biases, onnx_candidates, onnx_chains
from bench_plugin.adapters.onnx_tools.onnx_biases import NOTHING, UNKNOWN, ZEROS, Found
from bench_plugin.adapters.onnx_tools.onnx_candidates import Candidate
from bench_plugin.adapters.onnx_tools.onnx_chains import CONTRACTIONS
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
    "uses": ["onnx_biases", "onnx_candidates", "onnx_chains", "onnx_computed", "onnx_grouped"],
    "errors": [{"package": "onnx"}],
}

ALIKE = 0.9  # cosine from which on two constants are the same one, right or wrong
SPREAD = 0.25  # relative difference of norms up to which constants are compared at all
EQUAL = 1e-12  # difference of two such cosines that only the order of summation makes
HALF = 0.501  # steps up to which a constant is the rounded one
SINGLE = 1e-6  # what float32 arithmetic may change, as a share of the largest value
REPEATING = "ones of an Expand"  # where a constant of the file is named
PART = 1 << 20  # elements that are compared at once


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
        onnx, numpy = importlib.import_module("onnx"), importlib.import_module("numpy")
        model = onnx.load(call.files["model.onnx"])
        onnx_computed.store(onnx, model, unread=False)
        onnx_computed.store_of_shapes(onnx, model)
        copies = _own_divisors(onnx, model)
        known = onnx_candidates.known_values(onnx, model)
        inexact = onnx_candidates.inexact(onnx, model)
        candidates = list(onnx_candidates.candidates(model.graph, known))
        factors = _factors(model.graph)
        candidates.sort(key=lambda one: not one.inverse and one.name not in factors)  # of equal ones a divisor is last
        rows: list[dict[str, object]] = []
        replaced: dict[str, Any] = {}
        tensors: dict[str, Candidate] = {}
        arrays: dict[str, Array] = {}
        outputs = _outputs(model.graph)
        belonging = onnx_biases.belonging(call)
        later: dict[str, Found] = {}
        zeros: dict[str, set[str]] = {}  # what the file adds where the artefact has zeros
        takers: dict[str, set[str]] = {}  # the contractions that hold a constant of a layer in front
        vectors: set[str] = set()
        biased: dict[str, Candidate] = {}
        attributes: dict[tuple[str, str, float], float] = {}
        pieces: dict[str, dict[tuple[int, int], tuple[dict[str, object], Any]]] = {}
        for name in call.names:
            values, step = call.fixed[f"const:{name}"], call.fixed[f"step:{name}"]
            if name in call.numbers:
                row, written = _number(values, step, candidates, outputs)
                rows.append(row | {"name": name})
                arrays |= {} if written is None else {f"file:{name}": from_numpy(written)}
                continue
            biases = belonging.get(call.weights.get(name, ""), [])
            weight = tensors.get(call.weights.get(name, ""))
            if name in call.corrected:
                row, written = onnx_biases.uncorrected(values, step, weight, model.graph, known)
                rows.append(row | {"name": name})
                arrays |= {} if written is None else {f"file:{name}": from_numpy(written)}
                continue
            shifts = list(onnx_candidates.shifts(model.graph, known, weight)) if weight and name in biases[:1] else []
            if name in biases[:1] and not values.any():  # dropped, or added later, or it was never there
                added = [(one, call.fixed[f"const:{one}"], call.fixed[f"step:{one}"]) for one in biases[1:2]]
                found = onnx_biases.of_zeros(shifts, added, later)
                if found is None and weight:
                    rows.append(NOTHING | {"name": name})
                    continue
                zeros[name] = {one.name for one in shifts}
            else:
                every = [*candidates, *onnx_candidates.first_rows(model.graph, known, values.shape)]
                found = later.get(name) or (
                    _closest(values, every) if name in call.floating else _nearest(values, step, every, outputs)
                )
                found = found or onnx_biases.own(values, step, shifts) or _ones(values, step, candidates, model.graph)
            if found is None:
                nothing = not values.any() and name not in call.weights.values()  # as behind a norm without a bias
                rows.append((ZEROS if nothing else UNKNOWN) | {"name": name})
                continue
            candidate, order = found
            written = _placed(candidate.values, order, values.shape)
            slack = inexact.get(candidate.name, SINGLE) * max(_extent(written), candidate.terms)
            steps = max(0.0, _most_off(values, written, step, slack))
            folded = candidate.factor is not None
            if candidate.taken and steps <= HALF:
                for taken in candidate.moved:
                    takers.setdefault(taken, set()).add(candidate.taken[0].output[0])
            tensors[name] = candidate
            row = {"name": name, "tensor": candidate.name, "found": True, "folded": folded, "steps": steps}
            if not values.any() and written.any():
                row["missing"] = True
            elif steps > HALF and _clipped(values, written, step, slack):
                row["clipped"] = True
            if candidate.name in outputs:  # a sum's or a Concat's constant may have the step of another range
                row["reach"] = max(0.0, _most_off(values, numpy.broadcast_to(0.0, values.shape), step))
            arrays[f"file:{name}"] = from_numpy(written)
            real = _back(values, candidate, order).astype("float32")
            if candidate.piece is not None:
                pieces.setdefault(candidate.name, {})[candidate.piece] = row, real
                rows.append(row)
                continue
            if candidate.attribute:
                attributes[*candidate.attribute, float(candidate.values)] = float(real)
            if candidate.attribute or candidate.name == REPEATING:
                rows.append(row | {"replaced": True})
                continue
            own = _replace_one(replaced, known, candidate.name, real)
            if own and name not in call.weights and _is_constant(candidate, order, values.shape, known):
                vectors.add(own)
                row["replaced"] = True
                biased |= {own: candidate} if candidate.taken else {}
            rows.append(row)
        moved = onnx_biases.moved_on(model.graph, takers, rows, zeros)
        for name in (one for one, added in zeros.items() if added and added <= moved):  # a layer behind adds it
            rows = [NOTHING | {"name": name} if row["name"] == name else row for row in rows]
            arrays.pop(f"file:{name}", None)
        for name, parts in pieces.items():  # of which none may be missing
            whole = onnx_grouped.put_together(known[name], {place: real for place, (_, real) in parts.items()})
            replaced |= {} if whole is None else {name: whole}
            for row, _ in parts.values():
                row.update(UNKNOWN if whole is None else {"replaced": True})
                if whole is None:
                    arrays.pop(f"file:{row['name']}")
        onnx_biases.take_out(model.graph, biased, replaced, known)
        often = _read_often(model.graph)
        for row in rows:
            if row.get("replaced") and row["tensor"] in often:
                row["shared"] = True
        without = {copy for copy, name in copies.items() if name in replaced}  # the tool divides by the constant itself
        unmatched = _weights(model.graph, known) - set(replaced) - without - moved
        twins = _of_twins(known, replaced)
        _replace(onnx, model.graph, replaced | twins, vectors)
        _replace_attributes(model.graph, attributes)
        path = call.path("rebuilt.onnx")
        onnx.save(model, path)
        return Reply({"matches": rows, "unmatched": sorted(unmatched)}, arrays, files={"rebuilt.onnx": path})


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


def _clipped(values: Any, written: Any, step: Any, slack: float) -> bool:
    """Whether values are further off than their rounding only where the written ones are beyond their two ends."""
    off = abs(values - written) > HALF * step + slack
    beyond = (written > values) & (values == values.max()) | (written < values) & (values == values.min())
    return bool(beyond[off].all())


def _extent(values: Any) -> float:
    """The largest value, or the distance of the two ends, which a tool may subtract, where that is more."""
    return float(max(abs(values).max(initial=0.0), values.max(initial=0.0) - values.min(initial=0.0)))


def _ones(values: Any, step: Any, candidates: Sequence[Candidate], graph: Any) -> Found | None:
    """The ones that a tool multiplies by in place of an Expand; None of other numbers and without such a node.

    Where the file has a constant of as many elements, they may be what is left of it.
    """
    if not any(node.op_type == "Expand" for node in graph.node) or not (abs(values - 1) <= HALF * step).all():
        return None
    if any(one.values.size == values.size for one in candidates):
        return None
    return Candidate(REPEATING, values * 0 + 1), tuple(range(values.ndim))


def _outputs(graph: Any) -> dict[str, set[int]]:
    """The axes of constants that count the outputs of the contractions which read them; some from the last one."""
    found: dict[str, set[int]] = {}
    for node in graph.node:
        if node.op_type not in CONTRACTIONS:
            continue
        first = -2
        if node.op_type == "Gemm":
            first = int(any(one.name == "transA" and one.i for one in node.attribute))
        for name, axis in zip(node.input[:2], (first, onnx_chains.channel_axis(node))):
            found.setdefault(name, set()).add(axis)
    return found


def _nearest(
    values: Any, step: Any, candidates: list[Candidate], outputs: Mapping[str, Collection[int]]
) -> Found | None:
    """The constant of the file that is most like these values, and the order of its axes; None where none is alike.

    A symmetric matrix is alike in both orders. Its steps, where they are one per channel, go along its outputs. A
    constant is also as much like its product with a single number: the nearest of them counts.
    """
    found = list(_alike(values, candidates))
    most = max((alike for alike, _ in found), default=0.0)
    near = [one for alike, one in found if alike > most - EQUAL]
    if len(near) > 1:
        near = [one for one in near if _along_outputs(one, values.shape, step, outputs)] or near
    return min(near, key=partial(_steps_off, values, step)) if near else None


def _steps_off(values: Any, step: Any, found: Found) -> float:
    candidate, order = found
    return max(0.0, _most_off(values, _placed(candidate.values, order, values.shape), step))


def _most_off(values: Any, written: Any, step: Any, slack: float = 0.0) -> float:
    """The largest distance of two arrays [...] beyond ``slack`` in steps; -inf of none.

    A part of the first axis at a time, because a fully connected layer may have 100 million weights.
    """
    numpy = importlib.import_module("numpy")
    steps = numpy.atleast_1d(numpy.broadcast_to(step, values.shape))
    values, written = numpy.atleast_1d(values), numpy.atleast_1d(written)
    found, width = float("-inf"), max(1, PART // max(1, values[:1].size))
    for begin in range(0, len(values), width):
        part = slice(begin, begin + width)
        found = max(found, float(((abs(values[part] - written[part]) - slack) / steps[part]).max(initial=-numpy.inf)))
    return found


def _number(
    values: Any, step: Any, candidates: list[Candidate], outputs: Mapping[str, Collection[int]]
) -> tuple[dict[str, object], Any]:
    """The row of numbers that need not be the file's, and what that has in their place; None where it has nothing."""
    if values.size > 1:
        found = _nearest(values, step, candidates, outputs)
        if found is None:
            return UNKNOWN, None
        row = UNKNOWN | {"tensor": found[0].name, "found": True, "steps": _steps_off(values, step, found)}
        return row, _placed(found[0].values, found[1], values.shape)
    single = [one for one in candidates if one.values.size == 1]
    off = [float(abs(one.values.reshape(()) - values.reshape(())) / step.reshape(())) for one in single]
    if not off or min(off) > HALF:
        return UNKNOWN, None
    nearest = single[off.index(min(off))]
    return UNKNOWN | {"tensor": nearest.name, "found": True}, nearest.values.reshape(values.shape)


def _closest(values: Any, candidates: list[Candidate]) -> Found | None:
    """The constant of the file that is the closest one to these values, and the order of its axes.

    None where none is alike; a single number is like an equal one alone.
    """
    numpy = importlib.import_module("numpy")
    off = [
        (_most_off(values, _placed(one[0].values, one[1], values.shape), 1.0), one)
        for _, one in _alike(values, candidates)
    ]
    least, found = min(off, key=lambda one: one[0], default=(numpy.inf, None))
    single = values.size == 1 and least > SINGLE * float(abs(values).max())
    return None if single else found


def _alike(values: Any, candidates: list[Candidate]) -> Iterator[tuple[float, Found]]:
    """The constants of the file that are like these values, in each order of their axes, with the cosine."""
    numpy = importlib.import_module("numpy")
    norm = float(numpy.linalg.norm(values))
    for candidate in candidates:
        own = float(numpy.linalg.norm(candidate.values))
        if candidate.values.size != values.size or abs(own - norm) > SPREAD * max(own, norm):
            continue
        for order in _orders(candidate.values.shape):
            if norm == own == 0:
                yield 1.0, (candidate, order)
                continue
            placed = _placed(candidate.values, order, values.shape)
            alike = float(numpy.vdot(placed, values)) / (norm * own)
            if alike > ALIKE:
                yield alike, (candidate, order)


def _along_outputs(found: Found, shape: tuple[int, ...], step: Any, outputs: Mapping[str, Collection[int]]) -> bool:
    """Whether the steps of values of this shape change along an axis of the constant that counts outputs."""
    numpy = importlib.import_module("numpy")
    candidate, order = found
    steps = _back(numpy.broadcast_to(step, shape), Candidate("", candidate.values), order)
    for axis in outputs.get(candidate.name, ()):
        channels = numpy.moveaxis(steps, axis, 0)
        if (channels == channels[(slice(None), *[slice(0, 1)] * (channels.ndim - 1))]).all():
            return True
    return False


def _orders(shape: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """The orders of the axes of an array that lay it out differently: an axis of one element may stand anywhere."""
    orders = itertools.permutations(range(len(shape)))
    return {tuple(axis for axis in order if shape[axis] > 1): order for order in orders}.values()


def _placed(values: Any, order: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return values.transpose(order).reshape(shape)


def _back(values: Any, candidate: Candidate, order: tuple[int, ...]) -> Any:
    """The values that were read back, laid out as the file has them, without what was done to them."""
    numpy = importlib.import_module("numpy")
    shape = [candidate.values.shape[axis] for axis in order]
    laid = values.reshape(shape).transpose(numpy.argsort(order)) - candidate.others
    if candidate.inverse:
        return 1 / numpy.where(laid == 0, numpy.inf, laid)
    return laid if candidate.factor is None else laid / numpy.where(candidate.factor == 0, 1.0, candidate.factor)


def _is_constant(
    candidate: Candidate, order: tuple[int, ...], shape: tuple[int, ...], known: Mapping[str, Any]
) -> bool:
    """Whether what is read back for a candidate gives the constant of the file where nothing was rounded."""
    numpy = importlib.import_module("numpy")
    own = known.get(candidate.name)
    if own is None or candidate.values.shape != own.shape:
        return False
    if candidate.values is own:
        return True
    if candidate.factor is not None and not numpy.all(candidate.factor):
        return False
    found = _back(_placed(candidate.values, order, shape), candidate, order)
    return bool((abs(found - own) <= SINGLE * abs(own).max(initial=0.0)).all())


def _replace_one(replaced: dict[str, Any], known: Mapping[str, Any], name: str, values: Any) -> str:
    """Note what replaces a constant of the file; of equal ones under several names the next one without.

    Returns the name that is replaced; it is empty where a constant has two values now, of which the last one stays.
    """
    numpy = importlib.import_module("numpy")
    free = [name, *_twins(known, name)]
    own = next((one for one in free if one not in replaced), "")
    several = not own and not numpy.array_equal(replaced[name], values)
    replaced[own or name] = values
    return "" if several else own or name


def _of_twins(known: Mapping[str, Any], replaced: Mapping[str, Any]) -> dict[str, Any]:
    """What replaces the constants that were read back once for all names that the file has for equal ones.

    An exporter writes an Identity of a constant for a module that is used twice.
    """
    return {twin: values for name, values in replaced.items() for twin in _twins(known, name) if twin not in replaced}


def _twins(known: Mapping[str, Any], name: str) -> list[str]:
    """The other names under which the file has a constant."""
    numpy = importlib.import_module("numpy")
    own = known.get(name)
    if own is None:
        return []
    return [other for other, values in known.items() if other != name and numpy.array_equal(values, own)]


def _replace(onnx: Any, graph: Any, values: Mapping[str, Any], vectors: Collection[str]) -> None:
    """Write values as float32 into the constants of the file that have these names, but for biases.

    Biases are compared and not replaced: they may be sums of several of the file's. A constant of one dimension that is
    no bias is one of ``vectors``.
    """
    for tensor in graph.initializer:
        replaced = tensor.name in values and (len(tensor.dims) > 1 or tensor.name in vectors)
        if replaced and list(tensor.dims) == list(values[tensor.name].shape):
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[tensor.name], tensor.name))
    for node in graph.node:
        name = node.output[0] if node.op_type == "Constant" else ""
        if name in values and (values[name].ndim > 1 or name in vectors):
            node.attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(values[name]))


def _replace_attributes(graph: Any, values: Mapping[tuple[str, str, float], float]) -> None:
    """Write numbers into the attributes that have them: by operator, name and the number of the file."""
    for node in graph.node:
        for one in node.attribute:
            one.f = values.get((node.op_type, one.name, one.f), one.f) if one.type == onnx_candidates.FLOAT else one.f
