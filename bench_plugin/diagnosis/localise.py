"""The localisation of an error: which nodes of a cell's graph the compiler computes wrongly.

Every node gets the tensors of the float64 reference as inputs. The graph is divided into segments side by side in one
file, and wrong segments are divided in two, so that a graph of 200 nodes takes about ten compilations. A segment that
is wrong although its halves are right is wrong as a whole: the compiler changes the function where it joins the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench_plugin.compare.table import DEFAULTS
from bench_plugin.diagnosis.part_verdict import VALUES, OutputVerdict, judged
from bench_plugin.diagnosis.parts import CannotSay, Graph, Part, Ran
from bench_plugin.diagnosis.trials import Trials
from bench_plugin.domain.outcome import Failure

SHOWN_OPERATORS = 6


@dataclass(frozen=True)
class Place:
    """A node or several, with the error of the worst output: ``error`` is E (or steps), ``ratio`` is in tolerances."""

    name: str
    operators: tuple[str, ...]
    error: float | None
    ratio: float
    wrong: str
    reason: str

    @property
    def what(self) -> str:
        """Its operators in a few words, for tables."""
        more = len(self.operators) - SHOWN_OPERATORS
        return ", ".join(self.operators[:SHOWN_OPERATORS]) + (f" and {more} more" if more > 0 else "")


@dataclass
class Localised:
    """The result: ``guilty`` are the smallest wrong segments, ``ranking`` all nodes by local error, the worst first.

    ``profile`` has the end-to-end error of every tensor in the order of the graph. ``unit`` is that of the errors, E or
    steps.
    """

    unit: str
    guilty: list[Place] = field(default_factory=list)
    ranking: list[Place] = field(default_factory=list)
    profile: list[Place] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nodes: int = 0
    compilations: int = 0


class Localiser:
    """Localises the error of one cell."""

    def __init__(self, trials: Trials, note: Callable[[str], None]) -> None:
        self._trials = trials
        self._note = note
        self._found = Localised("E")

    def localise(self) -> Localised:
        """Profile, bisection and ranking. Raises CannotSay when the cell fails before there are numbers."""
        whole = self._trials.origin()
        ran = self._run(whole)
        if isinstance(ran.failure, Failure):
            raise CannotSay(f"it ends at {ran.failure.stage}: {ran.failure.message}; bench reduce is for that")
        graph = self._trials.extractor.graph(bound=True)
        self._found.nodes = len(graph.nodes)
        if self._trials.cell.graph == "qdq":
            self._layers(graph)
            return self._found
        self._profile(graph)
        self._bisect(graph)
        self._rank(graph)
        return self._found

    def _profile(self, graph: Graph) -> None:
        part = self._trials.extractor.part(graph, [list(range(len(graph.nodes)))], expose=True)
        ran = self._run(part)
        if ran.failure:
            self._found.notes.append(f"no profile: with every tensor as an output it ends at {ran.failure.stage}: "
                                     f"{ran.failure.message}")  # fmt: skip
            return
        makers = graph.makers
        for verdict in judged(self._trials, part, ran):
            if verdict.E is not None:
                node = graph.nodes[makers[verdict.name]]
                self._found.profile.append(_place(verdict.name, [node.operator], [verdict]))

    def _bisect(self, graph: Graph) -> None:
        everything = list(range(len(graph.nodes)))
        whole = self._wrong(graph, [everything])[0]
        if whole is None or not whole.wrong:
            self._found.notes.append("the graph as a whole is within tolerance on these inputs")
            return
        waiting: list[tuple[list[int], Place]] = [(everything, whole)]
        while waiting:
            halves = [half for segment, _ in waiting for half in _halves(segment)]
            places = dict(zip(map(tuple, halves), self._wrong(graph, halves), strict=True))
            self._note(f"{len(halves)} segments of {len(halves[0])} nodes: "
                       f"{sum(bool(place and place.wrong) for place in places.values())} are wrong")  # fmt: skip
            following: list[tuple[list[int], Place]] = []
            for segment, place in waiting:
                own = [(half, places[tuple(half)]) for half in _halves(segment)]
                bad = [(half, found) for half, found in own if found is not None and found.wrong]
                if not bad:  # both halves are right, so the fault lies in their combination
                    self._found.guilty.append(place)
                for half, found in bad:
                    if len(half) > 1:
                        following.append((half, found))
                    else:
                        self._found.guilty.append(found)
            waiting = following
        self._found.guilty.sort(key=lambda place: -place.ratio)

    def _rank(self, graph: Graph) -> None:
        single = [[place] for place, node in enumerate(graph.nodes) if not set(node.writes) <= graph.fixed]
        places = [place for place in self._wrong(graph, single) if place is not None]
        self._found.ranking = sorted(places, key=lambda place: (-place.ratio, -(place.error or 0.0)))

    def _wrong(self, graph: Graph, segments: Sequence[Sequence[int]]) -> list[Place | None]:
        """The verdict on each segment, None where it is right: all in one file, or one by one where that file fails."""
        try:
            part = self._trials.extractor.part(graph, segments)
            ran = self._run(part)
            if ran.failure is None:
                return self._verdicts(graph, segments, part, ran)
            said = f"{ran.failure.stage}: {ran.failure.message}"
        except CannotSay as error:
            said = str(error)
        self._found.notes.append(f"{len(segments)} segments in one file fail ({said})")
        return (
            [self._alone(graph, segment) for segment in segments] if 1 < len(segments) <= 16 else [None] * len(segments)
        )

    def _alone(self, graph: Graph, segment: Sequence[int]) -> Place | None:
        try:
            part = self._trials.extractor.part(graph, [segment])
        except CannotSay:
            return None
        ran = self._run(part)
        return None if ran.failure else self._verdicts(graph, [segment], part, ran)[0]

    def _verdicts(
        self, graph: Graph, segments: Sequence[Sequence[int]], part: Part, ran: Ran
    ) -> list[Place | None]:  # fmt: skip
        try:
            verdicts = judged(self._trials, part, ran) if ran.outputs else []
        except CannotSay as error:
            self._found.notes.append(str(error))
            return [None] * len(segments)
        finally:
            self._trials.extractor.discard(part)
        found: list[Place | None] = []
        for segment, positions in zip(segments, part.segments, strict=True):
            own = [verdicts[index] for index in positions if index < len(verdicts)]
            first = graph.nodes[segment[0]]
            name = first.name or first.writes[0]
            if len(segment) > 1:
                last = graph.nodes[segment[-1]]
                name = f"{name} ... {last.name or last.writes[0]}"
            found.append(_place(name, [graph.nodes[place].operator for place in segment], own) if own else None)
        return found

    def _layers(self, graph: Graph) -> None:
        """Localise in a QDQ graph by its quantised layers, whose integers are compared in steps."""
        self._found.unit = "steps"
        layers, exposed, reference = self._trials.extractor.layers()
        makers = graph.makers
        for part, target in ((layers, self._found.ranking), (exposed, self._found.profile)):
            ran = self._run(part)
            if ran.failure:
                what = "layer by layer" if part is layers else "with all integers as outputs"
                self._found.notes.append(f"{what} it ends at {ran.failure.stage}: {ran.failure.message}")
                continue
            for (name, want), have in zip(reference.items(), ran.outputs, strict=False):
                target.append(_in_steps(name, _layer_operators(graph, makers, name), want, have))
        self._found.guilty = [place for place in self._found.ranking if place.wrong]
        self._found.ranking.sort(key=lambda place: (-place.ratio, -(place.error or 0.0)))

    def _run(self, part: Part) -> Ran:
        self._found.compilations += 1
        return self._trials.run(part)


def _halves(segment: list[int]) -> list[list[int]]:
    middle = len(segment) // 2
    return [segment[:middle], segment[middle:]] if middle else [segment]


def _place(name: str, operators: Sequence[str], verdicts: Sequence[OutputVerdict]) -> Place:
    worst = max(verdicts, key=lambda one: (bool(one.wrong), one.ratio))
    return Place(name, tuple(operators), worst.E, worst.ratio, worst.wrong, worst.reason)


def _in_steps(name: str, operators: Sequence[str], want: Any, have: Any) -> Place:
    if want.shape != have.shape:
        return Place(name, tuple(operators), None, float("inf"), "shape", f"shape {list(have.shape)}")
    steps = np.abs(have.astype(np.int64) - want.astype(np.int64))
    most, beyond = int(steps.max(initial=0)), float((steps > 1).mean()) if steps.size else 0.0
    ratio = max(most / DEFAULTS.quantised_steps, beyond / (1 - DEFAULTS.quantised_share))
    reason = f"up to {most} steps, {beyond:.1%} of the elements beyond one"
    return Place(name, tuple(operators), float(most), ratio, VALUES if ratio > 1 else "", reason)


def _layer_operators(graph: Graph, makers: dict[str, int], name: str) -> list[str]:
    """The operators of a layer: those between its quantisation and the dequantisations before it."""
    found: list[str] = []
    waiting = list(graph.nodes[makers[name]].reads[:1]) if name in makers else []
    while waiting:
        made = waiting.pop()
        if made not in makers or graph.nodes[makers[made]].operator == "DequantizeLinear":
            continue
        node = graph.nodes[makers[made]]
        found.append(node.operator)
        waiting += node.reads
    return list(reversed(found)) or ["QuantizeLinear"]
