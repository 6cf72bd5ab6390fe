"""A Dask cluster for tests: scheduler and workers as own processes on loopback, all of which end with it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.project import kept_environment

START_SECONDS = 60.0


@dataclass
class Cluster:
    """The processes by name, and what pytest needs in its environment to find them."""

    folder: Path
    address: str
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    security: Mapping[str, str] = field(default_factory=dict)

    def start(self, name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        """Start ``python -m distributed.cli.dask_*`` in a session of its own."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True,
                env={
                    **kept_environment(), "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "60s", **self.security,
                    **(environment or {}),
                },
            )  # fmt: skip

    def worker(
        self, name: str, *, resources: str = "", threads: int = 1, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a worker without a nanny, so that its process is the one that the test kills."""
        self.start(
            name, "distributed.cli.dask_worker", self.address, "--name", name, "--nthreads", str(threads), "--no-nanny",
            "--no-dashboard", "--host", "127.0.0.1", "--memory-limit", "0", "--local-directory",
            str(self.folder / name), *(["--resources", resources] if resources else []), environment=environment,
        )  # fmt: skip

    def await_workers(self, *names: str) -> None:
        """Wait until these workers have registered: they say so in their logs."""
        until = time.monotonic() + START_SECONDS
        for name in names:
            while b"Registered to:" not in (log := (self.folder / f"{name}.log").read_bytes()):
                assert self.processes[name].poll() is None and time.monotonic() < until, log.decode()
                time.sleep(0.05)

    def below(self, name: str) -> list[int]:
        """The processes of a worker: it, its guardian and its agents."""
        return tree(self.processes[name].pid)

    def kill(self, name: str) -> None:
        """Kill the worker's own process, as a lost node does."""
        self.processes[name].kill()
        self.processes[name].wait()


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):
                found += [int(child) for child in Path(f"/proc/{one}/task/{thread}/children").read_text().split()]
    return found


def left(pids: list[int], seconds: float) -> list[int]:
    """Those that still run after so long at most."""
    until = time.monotonic() + seconds
    while (alive := [pid for pid in pids if _runs(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    return alive


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def cluster(folder: Path, *, scheme: str = "tcp", security: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A scheduler on a free port of loopback; all processes are ended behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Cluster(folder, f"{scheme}://127.0.0.1:{port}", security=security or {})
    with ExitStack() as stack:
        stack.callback(_end, made)
        made.start(
            "scheduler", "distributed.cli.dask_scheduler", "--host", f"{scheme}://127.0.0.1", "--port", str(port),
            "--no-dashboard", "--no-jupyter",
        )  # fmt: skip
        yield made


def _end(made: Cluster) -> None:
    for process in reversed(made.processes.values()):
        for pid in tree(process.pid):
            with suppress(OSError):
                os.kill(pid, signal.SIGCONT)
        process.terminate()
    for process in made.processes.values():
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
