"""The reduction of a failing cell to the fewest nodes that fail in the same way: delta debugging over its graph.

A part gets the tensors of the float64 reference as inputs, so any set of nodes is a model that can be tried. A failure
is the same if stage and symptom are, and the type and normalised message of an exception, the signal of a crash, or
what is wrong in a mismatch: shape, type, NaN or values. Values that are wrong by thousands of tolerances are not those
that are wrong by two: a part has to be off by at least the square root of what the whole is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from bench_plugin.diagnosis.failure_signature import same_failure
from bench_plugin.diagnosis.part_verdict import VALUES, OutputVerdict, judged
from bench_plugin.diagnosis.parts import CannotSay, Graph, Part, Ran
from bench_plugin.diagnosis.trials import Trials
from bench_plugin.domain.outcome import Failure, Stage, Symptom

SMALLEST = (1, 2, 3, 4)
HANG_SECONDS = 20.0
PATIENCE = 10.0  # a part may take so many times as long as the whole model


@dataclass(frozen=True)
class Defect:
    """The defect of a part: a failure, or wrong outputs."""

    failure: Failure | None = None
    wrong: tuple[OutputVerdict, ...] = ()

    @property
    def stage(self) -> Stage:
        """The stage at which it occurs."""
        return self.failure.stage if self.failure else Stage.COMPARE

    @property
    def symptom(self) -> Symptom:
        """The symptom of it."""
        return self.failure.symptom if self.failure else Symptom.MISMATCH

    @property
    def text(self) -> str:
        """The defect in one line."""
        if self.failure:
            kind = self.failure.types[0].rpartition(".")[2] + ": " if self.failure.types else ""
            return f"{self.stage}: {self.symptom}: {kind}{self.failure.message}"
        first = self.wrong[0]
        return f"{self.stage}: mismatch: {first.name}: {first.reason}"

    def of_outputs(self, other: Defect | None) -> bool:
        """Whether every wrong output is wrong in the other too; always true for failures."""
        wrong = {(one.name, one.wrong) for one in self.wrong}
        return not wrong or (other is not None and wrong <= {(one.name, one.wrong) for one in other.wrong})

    def same(self, other: Defect | None, names: Collection[str] = ()) -> bool:
        """Whether the other is the same defect; ``names`` are those of the graph, in which messages may differ."""
        if other is None or (self.failure is None) is not (other.failure is None):
            return False
        if self.failure and other.failure:
            return same_failure(self.failure, other.failure, names)
        kinds = {one.wrong for one in self.wrong} & {one.wrong for one in other.wrong}
        return bool(kinds - {VALUES}) or (VALUES in kinds and other.farthest >= self._least)

    @property
    def farthest(self) -> float:
        """By how many tolerances the values of the furthest output are off; 0 where none are wrong."""
        return max((one.ratio for one in self.wrong if one.wrong == VALUES), default=0.0)

    @property
    def _least(self) -> float:
        """By how many tolerances a smaller part has to be off; nothing is asked where the number is not known."""
        return math.sqrt(self.farthest) if math.isfinite(self.farthest) else 0.0


@dataclass
class Reduction:
    """The result: the smallest part, its defect, its number of ``nodes`` and that of the whole graph (``of``).

    ``trials`` counts the parts that were tried, ``seconds`` is the time that it took.
    """

    defect: Defect
    part: Part
    nodes: int
    of: int
    trials: int
    seconds: float
    notes: list[str] = field(default_factory=list)


class Reducer:
    """Reduces one cell in at most ``most`` trials and ``budget`` seconds; the result is the smallest part found."""

    def __init__(self, trials: Trials, note: Callable[[str], None], *, most: int, budget: float) -> None:
        self._trials = trials
        self._note = note
        self._most = most
        self._until = time.monotonic() + budget
        self._began = time.monotonic()
        self._count = 0
        self._known: dict[frozenset[int], bool] = {}
        self._notes: list[str] = []
        self._names: frozenset[str] = frozenset()

    def reduce(self, stage: str, symptom: str) -> Reduction:
        """Reduce the defect of the cell. Raises CannotSay when it does not occur outside the cell."""
        whole = self._trials.origin()
        defect = self._shown(whole, stage, symptom)
        if defect is None:
            raise CannotSay("the cell's own file does not show the defect when it is run alone: nothing to reduce")
        self._note(f"the whole file: {defect.text}")
        graph, nodes, part = self._start(whole, defect)
        total = len(graph.nodes)
        kept = self._minimal(graph, self._window(graph, nodes, defect), defect)
        part = self._trials.extractor.part(graph, [kept])
        part = self._shrunk(part, defect)
        last = self._defect(part, fresh=True)
        if last is None or not defect.same(last, self._names):
            raise CannotSay("the smallest part does not show it in a fresh process: it depends on what ran before")
        return Reduction(
            last, part, len(kept), total, self._count, time.monotonic() - self._began, self._notes
        )  # fmt: skip

    def _shown(self, whole: Part, stage: str, symptom: str) -> Defect | None:
        """The defect of the whole file. A mismatch is judged later, when the file is a part."""
        ran = self._trials.run(whole, fresh=True)
        self._count += 1
        if symptom == Symptom.MISMATCH:
            if ran.failure is not None:
                self._note(f"the cell was a mismatch; alone it ends at {ran.failure.stage}: {ran.failure.message}")
                return Defect(ran.failure)
            self._allow(ran)
            return self._wrong(whole, ran)
        if ran.failure is None:
            return None
        if (str(ran.failure.stage), str(ran.failure.symptom)) != (stage, symptom):
            self._note(f"the cell said {stage}: {symptom}; alone it is {ran.failure.stage}: {ran.failure.symptom}")
        if ran.failure.symptom is Symptom.TIMEOUT:
            self._trials.seconds = min(self._trials.seconds, HANG_SECONDS)
        return Defect(ran.failure)

    def _allow(self, ran: Ran) -> None:
        self._trials.seconds = min(self._trials.seconds, max(HANG_SECONDS, PATIENCE * ran.seconds))

    def _start(self, whole: Part, defect: Defect) -> tuple[Graph, list[int], Part]:
        """The graph, its nodes and its part, with symbols bound to sizes unless that hides the defect."""
        symbolic = any(not isinstance(dim, int) for row in whole.inputs for dim in row["shape"])
        for bound in (True, False) if symbolic else (True,):
            graph = self._trials.extractor.graph(bound=bound)
            nodes = list(range(len(graph.nodes)))
            part = self._trials.extractor.part(graph, [nodes])
            rewritten = self._defect(part)
            if defect.same(rewritten, graph.names):
                self._names = graph.names
                if not bound:
                    self._notes.append("symbolic dimensions stay: with numbers for them the defect is gone")
                return graph, nodes, part
            how = "with numbers for its symbols" if bound and symbolic else "rewritten"
            self._note(f"the graph {how}: {rewritten.text if rewritten else 'no defect'}")
        raise CannotSay("the defect is gone when the graph is rewritten without its names and shapes")

    def _window(self, graph: Graph, nodes: list[int], defect: Defect) -> list[int]:
        """The shortest run of nodes that shows the defect: its end is shortened first, then its beginning."""
        low, high = 1, len(nodes)
        while low < high:
            middle = (low + high) // 2
            if self._shows(graph, nodes[:middle], defect):
                high = middle
            else:
                low = middle + 1
        low, last = 0, high - 1
        while low < last:
            middle = (low + last + 1) // 2
            if self._shows(graph, nodes[middle:high], defect):
                low = middle
            else:
                last = middle - 1
        self._note(f"{high - low} nodes side by side show it")
        return nodes[low:high]

    def _minimal(self, graph: Graph, nodes: list[int], defect: Defect) -> list[int]:
        """Nodes that show the defect, none of which can be left out, by ddmin (Zeller and Hildebrandt, 2002)."""
        pieces = 2
        while len(nodes) > 1:
            size = -(-len(nodes) // pieces)
            chunks = [nodes[start : start + size] for start in range(0, len(nodes), size)]
            smaller = self._first(graph, chunks, defect) if pieces == 2 or size > 1 else None
            if smaller is None and size == 1:
                smaller = self._first(graph, chunks, defect)
            if smaller is not None:
                nodes, pieces = smaller, 2
                self._note(f"{len(nodes)} nodes still show it")
                continue
            rests = [[place for place in nodes if place not in chunk] for chunk in chunks]
            smaller = self._first(graph, rests, defect) if len(chunks) > 2 else None
            if smaller is not None:
                nodes, pieces = smaller, max(pieces - 1, 2)
                self._note(f"{len(nodes)} nodes still show it")
                continue
            if size == 1 or self._spent():
                break
            pieces = min(len(nodes), pieces * 2)
        return nodes

    def _first(self, graph: Graph, candidates: Sequence[list[int]], defect: Defect) -> list[int] | None:
        return next((nodes for nodes in candidates if nodes and self._shows(graph, nodes, defect)), None)

    def _shows(self, graph: Graph, nodes: list[int], defect: Defect) -> bool:
        key = frozenset(nodes)
        if key not in self._known:
            if self._spent():
                return False
            try:
                part = self._trials.extractor.part(graph, [nodes])
            except CannotSay:
                self._known[key] = False
                return False
            self._known[key] = bool(part.outputs) and defect.same(self._defect(part), self._names)
            self._trials.extractor.discard(part)
        return self._known[key]

    def _spent(self) -> bool:
        over = self._count >= self._most or time.monotonic() > self._until
        if over and not any("budget" in note for note in self._notes):
            self._notes.append(f"stopped by its budget after {self._count} trials: it may not be the smallest")
        return over

    def _shrunk(self, part: Part, defect: Defect) -> Part:
        """The part with smaller dimensions, the largest first, as far as the defect stays."""
        before = self._defect(part)
        for size in part.described["sizes"]:
            for to in (number for number in SMALLEST if number < size):
                if self._spent():
                    return part
                smaller = self._trials.extractor.smaller(part, size, to)
                if smaller is None or not self._valid(smaller):
                    continue
                found = self._defect(smaller)
                if found is not None and defect.same(found, self._names) and found.of_outputs(before):
                    self._note(f"dimension {size} can be {to}")
                    part = smaller
                    break
        return part

    def _defect(self, part: Part, *, fresh: bool = False) -> Defect | None:
        self._count += 1
        ran = self._trials.run(part, fresh=fresh)
        return Defect(ran.failure) if ran.failure else self._wrong(part, ran)

    def _valid(self, part: Part) -> bool:
        """Whether the float64 reference can be computed and is not empty; otherwise a defect would prove nothing."""
        try:
            return all(values.size for values in self._trials.truth(part).values())
        except CannotSay:
            return False

    def _wrong(self, part: Part, ran: Ran) -> Defect | None:
        if not ran.outputs:
            return None
        try:
            found = tuple(one for one in judged(self._trials, part, ran) if one.wrong)
        except CannotSay:
            return None
        return Defect(None, found) if found else None
