"""Which worker gets which cell: a table of waiting and running cells that starts nothing and asks nobody.

Cells that share an export form a group, and a group belongs to the worker that got its first cell. A worker takes the
cells that tests wait for, then those of its own groups, then a group that belongs to nobody, and then the cells of the
largest other group, so that no worker idles while cells wait: an export is made once on one worker while there is other
work, and at most once on each machine. Cells that take times come last, each alone on its machine.

While cells are brief, each worker has one more than it computes: the way of an answer and of the next cell costs
milliseconds in which it would idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bench_plugin.domain.cell import Cell

ATTEMPTS = 2  # a cell whose worker is lost is computed once more, by another one
BRIEF_SECONDS = 1.0  # of cells that a worker has more of than it computes
SMOOTHING = 0.2  # the weight of the last cell in the running mean of their times


@dataclass(frozen=True)
class Place:
    """A worker: its ``address`` and ``name`` in the cluster, its machine, and what the administrator says it has.

    ``node`` is the machine, ``threads`` the number of cells side by side.
    """

    address: str
    name: str
    node: str
    threads: int
    resources: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wanted:
    """What a cell asks of its worker.

    ``group`` names what it shares with others, ``toolchains`` the resources that the worker must have, ``boards`` those
    of which it must have one to itself. A cell that is ``alone`` has the worker's machine to itself. ``seconds`` is
    how long it may take.
    """

    group: str
    toolchains: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    alone: bool = False
    seconds: float = 3600.0


@dataclass(frozen=True)
class Attempt:
    """A cell at a worker since ``began`` (seconds of a steady clock); ``board`` is the resource that it holds."""

    cell: Cell
    place: Place
    board: str
    began: float


@dataclass
class _Waiting:
    """Waiting cells in their order, by group; of groups whose cells take times, and of all others."""

    groups: tuple[dict[str, dict[Cell, None]], dict[str, dict[Cell, None]]] = field(default_factory=lambda: ({}, {}))

    def add(self, cell: Cell, wanted: Wanted) -> None:
        self.groups[wanted.alone].setdefault(wanted.group, {})[cell] = None

    def remove(self, cell: Cell, wanted: Wanted) -> None:
        cells = self.groups[wanted.alone].get(wanted.group, {})
        cells.pop(cell, None)
        if not cells:
            self.groups[wanted.alone].pop(wanted.group, None)

    def __iter__(self) -> Iterator[Cell]:
        for groups in self.groups:
            for cells in groups.values():
                yield from cells


class Dispatch:
    """The table. It is not safe to use from several threads; times are seconds of a steady clock.

    A cell that no worker could compute is given up after ``patience`` seconds: its worker may only be restarting.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._wanted: dict[Cell, Wanted] = {}
        self._waiting = _Waiting()
        self._asked: dict[Cell, None] = {}  # cells that go first
        self._owner: dict[str, str] = {}  # of a group: the address of its worker
        self._places: dict[str, Place] = {}
        self._running: dict[Cell, Attempt] = {}
        self._had: dict[str, str] = {}  # resources that a worker had at any time, and the name of the last one
        self._stories: dict[Cell, list[str]] = {}  # how the attempts at a cell ended
        self._avoid: dict[Cell, set[str]] = {}
        self._stuck: Counter[str] = Counter()  # threads of a worker that still compute a cell that was given up
        self._stranded: dict[Cell, float] = {}
        self._mean = BRIEF_SECONDS  # of the seconds that cells take

    @property
    def places(self) -> Mapping[str, Place]:
        """The workers that get cells, by address."""
        return self._places

    @property
    def running(self) -> Mapping[Cell, Attempt]:
        """The cells that workers compute."""
        return self._running

    def waits(self, cell: Cell) -> bool:
        """Whether a cell waits for a worker."""
        wanted = self._wanted.get(cell)
        return wanted is not None and cell in self._waiting.groups[wanted.alone].get(wanted.group, {})

    def story(self, cell: Cell) -> tuple[str, ...]:
        """How the attempts at a cell ended that came to nothing."""
        return tuple(self._stories.get(cell, ()))

    def add(self, cell: Cell, wanted: Wanted) -> None:
        """A cell to compute; nothing for one that is known."""
        if cell not in self._wanted:
            self._wanted[cell] = wanted
            self._waiting.add(cell, wanted)

    def ask(self, cell: Cell) -> None:
        """The cell goes before all that were not asked for: a test waits for it, or its worker was lost."""
        self._asked[cell] = None

    def arrived(self, place: Place) -> None:
        """A worker that takes cells from now on."""
        self._places[place.address] = place
        self._had.update(dict.fromkeys(place.resources, place.name))

    def done(self, cell: Cell, now: float | None = None) -> None:
        """A cell that has its outcome, since ``now``, or for another reason than that it was computed."""
        attempt = self._running.pop(cell, None)
        if attempt is not None and now is not None:
            self._mean += SMOOTHING * (now - attempt.began - self._mean)
        self._forget(cell)

    def returned(self, cell: Cell) -> None:
        """A cell that its worker did not begin: it waits again, and that was no attempt."""
        if self._running.pop(cell, None) is not None:
            self._waiting.add(cell, self._wanted[cell])

    def gave_up(self, cell: Cell, why: str) -> str:
        """End an attempt; the reason where it was the last one, else the cell waits again and the text is empty."""
        attempt = self._running.pop(cell)
        stories = self._stories.setdefault(cell, [])
        stories.append(f"worker {attempt.place.name} {why}")
        if len(stories) >= ATTEMPTS:
            self._forget(cell)
            return "; ".join(stories)
        self._avoid.setdefault(cell, set()).add(attempt.place.address)
        self._waiting.add(cell, self._wanted[cell])
        self.ask(cell)
        return ""

    def lost(self, address: str, why: str) -> tuple[list[Cell], list[tuple[Cell, str]]]:
        """A worker takes no more cells. Its cells wait for another one, or are given up: returned are both.

        ``why`` follows the name of the worker. Those that are given up come with the reason. For the last ones, which
        it had beyond its threads, that was no attempt.
        """
        place = self._places.pop(address, None)
        if place is None:
            return [], []
        self._stuck.pop(address, None)
        again: list[Cell] = []
        failed: list[tuple[Cell, str]] = []
        for number, cell in enumerate([cell for cell, one in self._running.items() if one.place.address == address]):
            if number >= place.threads:
                self.returned(cell)
                again.append(cell)
            elif reason := self.gave_up(cell, why):
                failed.append((cell, reason))
            else:
                again.append(cell)
        return again, failed

    def overdue(self, now: float) -> list[tuple[Cell, str]]:
        """End the attempts that took longer than they may; those cells wait for another worker.

        Returned are all of them, with the reason where one is given up, else with an empty text. The thread of the
        worker is counted as occupied from then on.
        """
        found = []
        for cell, attempt in list(self._running.items()):
            seconds = self._wanted[cell].seconds
            if now - attempt.began > seconds:
                self._stuck[attempt.place.address] += 1
                found.append((cell, self.gave_up(cell, f"did not finish the cell within {seconds:g} s")))
        return found

    def assigned(self, now: float) -> list[Attempt]:
        """Give the workers that have a thread free their next cells, those with the fewest cells first."""
        given = self._filled(0, now)
        if self._mean < BRIEF_SECONDS and sum(1 for _ in self._waiting) > len(self._places):
            given += self._filled(1, now)
        return given

    def _filled(self, beyond: int, now: float) -> list[Attempt]:
        """Give the workers cells for their threads and so many ``beyond``."""
        given: list[Attempt] = []
        loads = Counter(one.place.address for one in self._running.values())
        loads.update(self._stuck)
        free = [one for one in self._places.values() if loads[one.address] < one.threads + beyond]
        while free:
            free.sort(key=lambda place: loads[place.address] / place.threads)
            left = []
            for place in free:
                attempt = self._next(place, now, beyond=loads[place.address] >= place.threads)
                if attempt is not None:
                    given.append(attempt)
                    loads[place.address] += 1
                    if loads[place.address] < place.threads + beyond:
                        left.append(place)
            free = left
        return given

    def stranded(self, now: float) -> list[tuple[Cell, str]]:
        """The cells that no worker could compute for longer than the patience, each with the reason; they are ended."""
        possible: dict[tuple[Wanted, frozenset[str]], bool] = {}
        found = []
        for cell in list(self._waiting):
            sort = (self._wanted[cell], frozenset(self._avoid.get(cell, ())))
            if sort not in possible:
                possible[sort] = any(self._could(place, cell) for place in self._places.values())
            if possible[sort]:
                self._stranded.pop(cell, None)
            elif now - self._stranded.setdefault(cell, now) >= self._patience:
                found.append((cell, self._lack(cell)))
        for cell, _ in found:
            self._forget(cell)
        return found

    def drained(self) -> list[Cell]:
        """Every cell that has no outcome, which are ended."""
        cells = [*self._running, *self._waiting]
        for cell in cells:
            self.done(cell)
        return cells

    def _forget(self, cell: Cell) -> None:
        self._waiting.remove(cell, self._wanted[cell])
        for table in (self._asked, self._avoid, self._stranded):
            table.pop(cell, None)

    def _next(self, place: Place, now: float, *, beyond: bool) -> Attempt | None:
        """The next cell of a worker; ``beyond`` its threads it takes none that needs something to itself."""
        here = [one for one in self._running.values() if one.place.node == place.node]
        if any(self._wanted[one.cell].alone for one in here):
            return None
        for cell in self._ranked(place):
            wanted = self._wanted[cell]
            if not self._could(place, cell) or (beyond and (wanted.alone or self._boards(wanted))):
                continue
            held = {one.board for one in here if one.place == place}
            boards = [name for name in self._boards(wanted) if name in place.resources and name not in held]
            if self._boards(wanted) and not boards:
                continue
            if wanted.alone and here:
                return None  # the machine gets empty for it
            self._waiting.remove(cell, wanted)
            self._owner.setdefault(wanted.group, place.address)
            attempt = self._running[cell] = Attempt(cell, place, boards[0] if boards else "", now)
            return attempt
        return None

    def _ranked(self, place: Place) -> Iterator[Cell]:
        """The waiting cells in the order in which a worker would take them."""
        yield from [cell for cell in self._asked if self.waits(cell)]
        for groups in self._waiting.groups:
            owners = {name: self._owner.get(name, "") for name in groups}
            owners = {name: owner if owner in self._places else "" for name, owner in owners.items()}
            yield from _cells(groups, (name for name, owner in owners.items() if owner == place.address))
            for name in [name for name, owner in owners.items() if not owner]:
                self._owner.pop(name, None)
                yield from _cells(groups, [name])
            others = [name for name, owner in owners.items() if owner and owner != place.address]
            yield from _cells(groups, sorted(others, key=lambda name: -len(groups[name])))

    def _could(self, place: Place, cell: Cell) -> bool:
        """Whether a worker has what a cell asks for; what no worker ever said to have, every worker can do."""
        wanted = self._wanted[cell]
        boards = self._boards(wanted)
        return (
            place.address not in self._avoid.get(cell, ())
            and place.resources.issuperset(name for name in wanted.toolchains if name in self._had)
            and (not boards or not place.resources.isdisjoint(boards))
        )

    def _boards(self, wanted: Wanted) -> list[str]:
        return [name for name in wanted.boards if name in self._had]

    def _lack(self, cell: Cell) -> str:
        """Why no worker can compute a cell."""
        wanted = self._wanted[cell]
        if not self._places:
            text = "no worker is left in the cluster"
        else:
            present = frozenset().union(*(place.resources for place in self._places.values()))
            needed = [name for name in wanted.toolchains if name in self._had]
            missing = [name for name in needed if name not in present]
            if (boards := self._boards(wanted)) and present.isdisjoint(boards):
                missing += boards
            if missing:
                gone = ", ".join(f"{name} (worker {self._had[name]} had it)" for name in missing)
                text = f"no worker of the cluster has the resource {gone}"
            elif needed or boards:
                text = f"no worker of the cluster has all of {', '.join([*needed, *boards])}"
            else:
                text = "no other worker is left that could try it again"
        return "; ".join([*self.story(cell), f"{text}, for {self._patience:g} s"])


def _cells(groups: Mapping[str, Mapping[Cell, None]], names: Iterable[str]) -> list[Cell]:
    return [cell for name in names for cell in groups[name]]
