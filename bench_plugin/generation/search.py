"""The search: generated graphs are tried one after the other, failures are told apart by signature, and shrunk.

Importing this module needs no hypothesis; :func:`search` does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from bench_plugin.generation.graphs import Graph

MESSAGE = 160
ROUNDS = 8
ANY = "*"  # in the place of a signature's operators: the tool does it whatever the operator


@dataclass(frozen=True)
class Effort:
    """How long one cell is searched: ``single`` and ``joined`` are examples of one operator and of several."""

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
    """What makes two failures of a compiler one: where, how, in which operators, with which message."""

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
        """8 hex digits."""
        return hashlib.sha256(repr((*self.kind, self.operators)).encode()).hexdigest()[:8]

    def plain(self) -> dict[str, Any]:
        """As rows hold it."""
        return {
            "stage": self.stage, "symptom": self.symptom, "operators": list(self.operators), "message": self.message,
        }  # fmt: skip

    def covers(self, other: Signature) -> bool:
        """Whether a failure of several operators is this one in their midst; ``*`` stands for any operator."""
        known = ANY in self.operators or set(self.operators) <= set(other.operators)
        return self.kind == other.kind and known


@dataclass(frozen=True)
class KnownFailure:
    """A failure that an expectation lists; ``where`` names its row, ``example`` is the graph that shows it.

    ``own`` rows are the cell's, others those of the compiler's other cells, which are not new here either. The example
    of a ``replayed`` one is tried first, to see whether the failure still shows.
    """

    signature: Signature
    example: Graph
    where: str
    own: bool
    replayed: bool


def normalised(text: str) -> str:
    """The first line of a message without what differs from graph to graph: numbers, names, places."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"(/[\w.+-]+){2,}", "PATH", line)
    line = re.sub(r"0x[0-9a-fA-F]+", "#", line)
    line = re.sub(r"\b[xcr]\d+(_\w+)?\b", "NAME", line)
    line = re.sub(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\bnan\b|\binf\b)", "#", line)
    line = re.sub(r"(\[|\(|\{)\s*(#|NAME|,|\s)*(\]|\)|\})", "[#]", line)
    return line[:MESSAGE].strip()


AGREED, REFUSED, SILENT, INVALID, FAILED = "agreed", "refused", "silent", "invalid", "failed"


@dataclass(frozen=True)
class Tried:
    """One example: ``refused`` by the tool, ``silent`` where nothing says what it should give, ``invalid`` if it is not
    a graph, ``failed`` with a signature.
    """

    result: str
    reason: str = ""
    signature: Signature | None = None
    log: str = ""


@dataclass
class Report:
    """What a search did: examples by result, and the minimal graph of each new signature."""

    counts: dict[str, int] = field(default_factory=dict)
    found: list[tuple[Graph, Tried]] = field(default_factory=list)
    known: int = 0
    first: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    database: str = ""
    seconds: float = 0.0
    out_of_time: bool = False

    def note(self, tried: Tried) -> None:
        """Count an example that was not tried before."""
        self.counts[tried.result] = self.counts.get(tried.result, 0) + 1
        self.first.setdefault(tried.result, tried.reason)


def available() -> bool:
    """Whether hypothesis is installed."""
    return importlib.util.find_spec("hypothesis") is not None


def search(
    strategy: SearchStrategy[Graph], attempt: Callable[[Graph], Tried], known: Callable[[Tried], bool],
    effort: Effort, *, examples: int, database: Path,
) -> Report:  # fmt: skip
    """Try ``examples`` graphs; failures with a signature that is not known are shrunk, each kind by itself.

    What was tried once is not tried again, so that a result that changes from run to run cannot confuse the search;
    when the time is over nothing new is tried.
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
    run = chosen(given(strategy)(tried))
    if report.seed is not None:
        run = seed(report.seed)(run)
    for _ in range(
        ROUNDS
    ):  # hypothesis stops soon after a failure: what it has shrunk is stepped over in another round
        try:
            run()
        except Finding:
            pass
        except OutOfTime:
            break
        except ExceptionGroup as group:  # one of each kind
            _, others = group.split(Finding)
            if others is not None:
                raise others from None
        if done == set(latest):
            break
        done = set(latest)
    # Each round ends with the smallest graph of each kind, run once more; unless it was broken off.
    best = smallest if report.out_of_time else latest
    report.found = [best[kind] for kind in sorted(best)]
    report.seconds = round(time.monotonic() - began, 3)
    return report


def _size(graph: Graph) -> tuple[int, int, int]:
    return len(graph.nodes), sum(one.values.size for one in graph.sources), len(graph.text())


class OutOfTime(BaseException):
    """Ends a search at once: hypothesis takes no exception of this kind for a failure of the test."""


class Finding(Exception):
    """A graph with a new signature; every kind has a class of its own, which is what hypothesis tells bugs apart by."""
