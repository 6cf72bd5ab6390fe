"""The workers of a cluster that have agreed with a run on what is computed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench_plugin import __version__
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import UsageError
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.protocol import Note
from bench_plugin.session.engines.remote import messages, worker
from bench_plugin.session.engines.remote.cluster import BOARD, Cluster, Known, Task
from bench_plugin.session.engines.remote.dispatch import Place

ANSWER_SECONDS = 10.0  # to fetch what a worker has answered
LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Member:
    """A worker that has agreed: its place, and the digest of its machine's facts."""

    place: Place
    host: str


class Members:
    """The workers of a cluster that compute what this run means; they are asked once each."""

    def __init__(self, cluster: Cluster, basis: Basis, cells: Sequence[Cell]) -> None:
        self.run = uuid.uuid4().hex[:12]
        self.agreed: dict[str, Member] = {}
        self._cluster = cluster
        self._toolchains = list(dict.fromkeys(basis.keys.toolchains(cells)))
        self._said = {
            "run": self.run, "version": __version__, "root": str(basis.settings.root),
            "settings": messages.settings_data(basis.settings), "toolchains": self._toolchains,
            "agreement": messages.agreement(basis, self._toolchains),
        }  # fmt: skip
        self._boards: set[str] = set()  # that any worker has

    def ask_all(self, note: Note) -> None:
        """Ask every worker that is there. Raises UsageError where there is none, and for those that refuse."""
        until = time.monotonic() + self._cluster.limit("workers")
        known = self._known()
        while not known and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            known = self._known()
        if not known:
            raise UsageError(
                f"--bench-scheduler: the scheduler at {self._cluster.address} has no worker; start some with "
                f"`dask worker {self._cluster.address}`, and see docs/scale.md"
            )
        asked = {address: self.asked(address, one) for address, one in known.items()}
        refused, silent = [], []
        for address, future in asked.items():
            try:
                future.result(timeout=max(1.0, until - time.monotonic()))
                text = self.answered(address, known[address], future)
            except Exception as error:
                silent.append(f"{known[address].name} ({type(error).__name__}: {error})")
                continue
            if text:
                refused.append(text)
        if refused:
            raise UsageError(f"cluster: workers do not compute what this run means: {'; '.join(refused)}")
        if not self.agreed:
            raise UsageError(f"cluster: no worker can take a cell: {'; '.join(silent)}")
        if silent:
            note(f"cluster: these workers did not answer and get no cell for now: {'; '.join(silent)}")
        threads = sum(one.place.threads for one in self.agreed.values())
        nodes = len({one.place.node for one in self.agreed.values()})
        note(f"cluster: workers: {len(self.agreed)}, machines: {nodes}, cells side by side: {threads}")

    def asked(self, address: str, known: Known) -> Task:
        """The future of a worker's answer."""
        own = known.boards
        self._boards |= own
        elsewhere = [name.removeprefix(BOARD) for name in sorted(self._boards - own)]
        said = {**self._said, "folder": known.folder, "threads": known.threads, "elsewhere": elsewhere}
        return self._cluster.submit(worker.join, messages.written(said), address)

    def answered(self, address: str, known: Known, task: Task) -> str:
        """Take a worker's answer; why it refuses, and empty where it is a member now. Raises what its task raised."""
        said = messages.read(task.result(timeout=ANSWER_SECONDS))
        if said["refused"]:
            return f"worker {known.name}: {said['refused']}"
        name = known.name if known.name != address else f"{said['node']}-{known.folder.rpartition('-')[2]}"
        place = Place(address, name, said["node"], known.threads, known.resources)
        self.agreed[address] = Member(place, said["host"])
        return ""

    def _known(self) -> Mapping[str, Known]:
        try:
            known = self._cluster.workers()
        except OSError as error:
            raise UsageError(f"--bench-scheduler: {self._cluster.address} does not answer: {error}") from error
        self._boards |= {name for one in known.values() for name in one.boards}
        return known
