"""The engine ``dask``: cells as tasks on the workers of a Dask cluster that somebody started (docs/scale.md).

Everything but the transport is in remote/. The messages are plain data, but Dask itself sends tasks by pickle, so
whoever reaches the scheduler can run code on its workers: across a network that is for TLS.
"""

from __future__ import annotations

import ipaddress
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from bench_plugin.domain.cell import Cell
from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.session.basis import Basis
from bench_plugin.session.engines.protocol import Begin, Note
from bench_plugin.session.engines.remote.cluster import LIMITS, Known, Task
from bench_plugin.session.engines.remote.engine import RemoteEngine
from bench_plugin.session.engines.remote.members import Members

ANSWER_SECONDS = 10.0  # of the scheduler
LEAVE_SECONDS = 5.0


def prepared(basis: Basis, note: Note, cells: Sequence[Cell]) -> Begin:
    """Connect to the scheduler, and agree with its workers on what is computed.

    Raises EnvironmentMissing without the package distributed, UsageError where no scheduler or no worker answers, and
    where a worker would not compute what is meant.
    """
    cluster = DaskCluster(basis.settings.scheduler)
    try:
        _warn(cluster, note)
        members = Members(cluster, basis, cells)
        members.ask_all(note)
    except BaseException:
        cluster.close()
        raise
    return lambda settings: RemoteEngine(basis, settings, note, cluster, members)


class DaskCluster:
    """The connection to a scheduler; every question has an end. It replaces no handler of a signal.

    Raises EnvironmentMissing and UsageError.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        with _quiet():
            try:
                from distributed import Client as DaskClient

                client: Any = DaskClient  # it has no types
            except ImportError as error:
                raise EnvironmentMissing(
                    f"--bench-engine dask: {error}; it comes with: pip install 'bench-plugin[dask]'"
                ) from error
            try:
                self.client = client(address, timeout=self.limit("connect"), set_as_default=False, name="bench-plugin")
            except Exception as error:  # of the network, of TLS, of an address of unknown form
                raise UsageError(
                    f"--bench-scheduler: no Dask scheduler answers at {address} within {self.limit('connect'):g} s "
                    f"({type(error).__name__}: {error}); start one with `dask scheduler`, and see docs/scale.md"
                ) from error

    def limit(self, name: str) -> float:
        """Seconds of :data:`LIMITS`. Raises UsageError for a value that is no time."""
        import dask
        from dask.utils import parse_timedelta

        value = dask.config.get(f"bench-plugin.{name}", LIMITS[name])
        try:
            return float(parse_timedelta(value))
        except (TypeError, ValueError, KeyError):
            raise UsageError(f"Dask's configuration: bench-plugin.{name} is {value!r}, which is no time") from None

    @property
    def lost(self) -> bool:
        """Whether the connection has ended for good."""
        return bool(self.client.status == "closed")

    def workers(self) -> Mapping[str, Known]:
        """The workers by address. Raises OSError where the scheduler does not answer."""
        if self.client.status not in ("running", "connecting"):
            raise OSError(f"the connection is {self.client.status}")
        try:
            found = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS)
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        return {
            address: Known(
                str(one["name"]), int(one["nthreads"]), frozenset(one["resources"]), one["local_directory"],
                float(one["last_seen"]),
            )
            for address, one in found["workers"].items()
        }  # fmt: skip

    def worker_ttl(self) -> Any:
        """After which time the scheduler drops a worker without a heartbeat; None where it never does."""
        import dask

        return self.client.run_on_scheduler(dask.config.get, "distributed.scheduler.worker-ttl", None)

    def submit(self, function: Callable[..., Any], text: str, address: str, resource: str = "") -> Task:
        """A task for one worker, which has a unit of a resource to itself where one is named; Dask's future of it."""
        task: Task = self.client.submit(
            function, text, pure=False, workers=[address], allow_other_workers=False, retries=0,
            resources={resource: 1} if resource else None,
        )  # fmt: skip
        return task

    def leave(self, function: Callable[[str], None], run: str, addresses: Sequence[str]) -> None:
        """Call a function in these workers at once; one that does not answer is not waited for."""

        def told() -> None:
            with suppress(Exception):
                self.client.run(function, run, workers=list(addresses), on_error="ignore")

        thread = threading.Thread(target=told, name="bench-dask-leave", daemon=True)
        thread.start()
        thread.join(LEAVE_SECONDS)

    def close(self) -> None:
        """End the connection."""
        with _quiet(), suppress(Exception):
            self.client.close(timeout=LEAVE_SECONDS)


def _warn(cluster: DaskCluster, note: Note) -> None:
    """Say what of a cluster will cost a night."""
    parts = urlsplit(cluster.address)
    if parts.scheme == "tcp" and not _loopback(parts.hostname or ""):
        note(
            f"dask: {cluster.address} is neither encrypted nor authenticated, and whoever reaches it can run code on "
            "its workers; docs/scale.md shows the set-up with TLS (tls://)"
        )
    try:
        ttl = cluster.worker_ttl()
    except Exception as error:
        raise UsageError(f"--bench-scheduler: {cluster.address} does not answer: {error}") from error
    if ttl is None:
        note(
            "dask: the scheduler never drops a frozen worker; start it with DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=60s"
        )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _quiet() -> Iterator[None]:
    """Import and connect without what concerns nobody here.

    A project's filters may turn warnings into errors. Dask's loggers get a handler for the stderr of the moment of the
    import, which is pytest's, and closed later.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    for name in ("distributed", "distributed.client", "distributed.gc", "bokeh", "tornado", "tornado.application"):
        logger = logging.getLogger(name)
        for handler in [one for one in logger.handlers if type(one) is logging.StreamHandler]:
            logger.removeHandler(handler)
            logger.propagate = True
