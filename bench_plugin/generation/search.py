"""The search: generated graphs are tried in turn, and failures are distinguished by signature and shrunk.

Importing this module needs no hypothesis; :func:`search` does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.texts.messages import matches

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from bench_plugin.generation.graphs import Graph

ROUNDS = 8
ANY = "*"  # stands for the operators of a signature: the tool fails so with any operator


@dataclass(frozen=True)
class Effort:
    """The budget of one cell: ``single`` examples of one operator, ``joined`` of several, and ``seconds`` at most."""

    single: int
    joined: int
    seconds: float
    derandomized: bool


EFFORTS: Mapping[str, Effort] = {
    "quick": Effort(10, 40, 15.0, True),
    "nightly": Effort(400, 4000, 240.0, False),
}


@dataclass(frozen=True)
class Signature:
    """What identifies a failure of a compiler: stage, symptom, operators and message (results/signature.py).

    Mismatches have no band here: how far off they are says more of the values that were generated than of the defect.
    """

    stage: str
    symptom: str
    operators: tuple[str, ...]
    message: str

    @property
    def kind(self) -> tuple[str, str, str]:
        """All but the operators, which change while a graph of several shrinks."""
        return self.stage, self.symptom, self.message

    @property
    def digest(self) -> str:
        """A hash of it, 8 hex digits."""
        return hashlib.sha256(repr((*self.kind, self.operators)).encode()).hexdigest()[:8]

    def plain(self) -> dict[str, Any]:
        """Plain data, as rows contain it."""
        return {
            "stage": self.stage, "symptom": self.symptom, "operators": list(self.operators), "message": self.message,
        }  # fmt: skip

    def covers(self, other: Signature) -> bool:
        """Whether ``other`` is this failure among further operators; ``*`` stands for any operator."""
        if (self.stage, self.symptom) != (other.stage, other.symptom) or not matches(self.message, other.message):
            return False
        return ANY in self.operators or set(self.operators) <= set(other.operators)


@dataclass(frozen=True)
class KnownFailure:
    """A failure that an expectation lists; ``where`` names its row, ``example`` is the graph that shows it.

    ``own`` is true for rows of the cell, false for rows of the compiler's other cells, which are not new either. The
    examples of ``replayed`` failures are tried first, to see whether they still fail.
    """

    signature: Signature
    example: Graph
    where: str
    own: bool
    replayed: bool


AGREED, REFUSED, SILENT, INVALID, FAILED = "agreed", "refused", "silent", "invalid", "failed"


@dataclass(frozen=True)
class Tried:
    """The result of one example: ``agreed``, ``refused`` by the tool, ``silent`` without a reference, ``invalid`` as a
    graph, or ``failed`` with a signature.
    """

    result: str
    reason: str = ""
    signature: Signature | None = None
    log: str = ""


@dataclass
class Report:
    """The result of a search: examples by result, and the smallest graph of each new signature; ``seconds`` it took."""

    counts: dict[str, int] = field(default_factory=dict)
    found: list[tuple[Graph, Tried]] = field(default_factory=list)
    known: int = 0
    first: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    database: str = ""
    seconds: float = 0.0
    out_of_time: bool = False

    def note(self, tried: Tried) -> None:
        """Count a new example."""
        self.counts[tried.result] = self.counts.get(tried.result, 0) + 1
        self.first.setdefault(tried.result, tried.reason)


def available() -> bool:
    """Whether hypothesis is installed."""
    return importlib.util.find_spec("hypothesis") is not None


def search(
    strategy: SearchStrategy[Graph], attempt: Callable[[Graph], Tried], known: Callable[[Tried], bool],
    effort: Effort, *, examples: int, database: Path, first: Sequence[SearchStrategy[Graph]] = (),
) -> Report:  # fmt: skip
    """Try the simplest graph of each strategy of ``first``, then ``examples`` graphs of ``strategy``, and shrink
    failures with a new signature, each kind by itself.

    No graph is tried twice, so that a result that changes from run to run cannot confuse the search. After
    ``effort.seconds`` no new graph is tried. Raises what ``attempt`` raises.
    """
    from hypothesis import HealthCheck, Verbosity, given, seed, settings
    from hypothesis.database import DirectoryBasedExampleDatabase

    report = Report()
    remembered: dict[str, Tried] = {}
    kinds: dict[tuple[str, str, str], type[Finding]] = {}
    latest: dict[tuple[str, str, str], tuple[Graph, Tried]] = {}
    smallest: dict[tuple[str, str, str], tuple[Graph, Tried]] = {}
    done: set[tuple[str, str, str]] = set()
    began = time.monotonic()

    def result(graph: Graph) -> Tried:
        digest = graph.digest
        if digest not in remembered:
            if time.monotonic() - began > effort.seconds:
                report.out_of_time = True
                raise OutOfTime
            remembered[digest] = attempt(graph)
            report.note(remembered[digest])
        return remembered[digest]

    def tried(graph: Graph) -> None:
        found = result(graph)
        if found.signature is None:
            return
        if known(found):
            report.known += 1
            return
        kind = found.signature.kind
        if kind in done:
            return
        latest[kind] = (graph, found)
        smallest[kind] = min(smallest.get(kind, latest[kind]), latest[kind], key=lambda one: _size(one[0]))
        raise kinds.setdefault(kind, type("Finding", (Finding,), {}))(found.reason)

    if not effort.derandomized:
        report.seed = random.SystemRandom().randrange(2**32)
        report.database = str(database)
    chosen = settings(
        max_examples=examples, derandomize=effort.derandomized, deadline=None, print_blob=False,
        database=None if effort.derandomized else DirectoryBasedExampleDatabase(database),
        suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet, report_multiple_bugs=True,
    )  # fmt: skip
    once = settings(chosen, max_examples=1)
    runs = [once(given(one)(tried)) for one in first]
    run = chosen(given(strategy)(tried))
    if report.seed is not None:
        run = seed(report.seed)(run)
    # hypothesis stops soon after a failure, so another round passes over the failures that are shrunk.
    for _ in range(ROUNDS):
        try:
            for one in (*runs, run):
                _without_findings(one)
        except OutOfTime:
            break
        if done == set(latest):
            break
        done = set(latest)
    # Each round, unless it is interrupted, ends with another run of the smallest graph of each kind.
    best = smallest if report.out_of_time else latest
    report.found = _distinct([best[kind] for kind in sorted(best)])
    report.seconds = round(time.monotonic() - began, 3)
    return report


def _without_findings(run: Callable[[], None]) -> None:
    """Run it; what it finds is in the report already. Raises what else it raises."""
    try:
        run()
    except Finding:
        pass
    except ExceptionGroup as group:  # one of each kind
        _, others = group.split(Finding)
        if others is not None:
            raise others from None


def _distinct(found: list[tuple[Graph, Tried]]) -> list[tuple[Graph, Tried]]:
    """Without a failure that is another one with a tensor that has no elements."""
    signatures = [tried.signature for _, tried in found if tried.signature]
    return [
        (graph, tried)
        for graph, tried in found
        if not any(tried.signature and one != tried.signature and one.covers(tried.signature) for one in signatures)
    ]


def _size(graph: Graph) -> tuple[int, int, int]:
    return len(graph.nodes), sum(one.values.size for one in graph.sources), len(graph.text())


class OutOfTime(BaseException):
    """Ends a search at once. hypothesis does not treat an exception of this kind as a failure of the test."""


class Finding(Exception):
    """A graph with a new signature. Every kind gets its own class, by which hypothesis distinguishes failures."""
