"""The stage runner: obtains the result of a stage from this run, the cache or an agent, and makes each only once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.domain.recipes import recipe
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.retry import repeated, repeats
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.client import Agent, AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import RESET, AgentPool

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class CallSpec:
    """A call of one operation of an adapter.

    ``arrays`` makes the arrays to send, of any shapes and dtypes. ``prefix`` stands before the names of the results.
    The failure of an ``optional`` call is a part of the stage's result and does not fail the stage.
    """

    operation: str
    meta: Mapping[str, Any]
    arrays: Callable[[], Arrays] = dict
    prefix: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Task:
    """What a stage needs: the adapter that does it, its calls and files, and the parts of its recipe.

    ``parts`` go into the recipe beside the adapter, the agent and the lock, and must name every input.
    An agent that did a task with the same ``affinity`` is preferred, because it still has the model in memory. Tasks of
    different ``role`` are never done by the same process. ``toolchain`` is that of the adapter unless it names another.
    ``refreshed`` is false for stages that ``--bench-refresh`` does not repeat, such as the corpus of ONNX's tests.
    """

    stage: Stage
    adapter: str
    calls: tuple[CallSpec, ...]
    parts: Mapping[str, Any]
    limits: Limits
    files: Mapping[str, Path] = field(default_factory=dict)
    affinity: str = ""
    role: str = ""
    toolchain: str = ""
    refreshed: bool = True


@dataclass(frozen=True)
class Done:
    """A finished stage: metadata by operation, arrays (of any shapes and dtypes) and files by name; or its failure.

    ``seconds`` is by announced stage, as the agent measured it; ``peak`` is the largest resident memory in bytes;
    ``key`` is the recipe; ``retry`` is what the row says of a repeated call, ``remarks`` what else it says.
    """

    key: str
    meta: Mapping[str, Any]
    arrays: Arrays
    files: Mapping[str, Path]
    failure: Failure | None
    seconds: Mapping[str, float]
    peak: int
    cached: bool
    retry: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


class Stages:
    """Obtains stages for all cells of a run; safe to use from several threads."""

    def __init__(
        self,
        cache: Cache,
        pool: AgentPool,
        catalog: Catalog,
        toolchains: Toolchains,
        *,
        agent_digest: str,
        refresh: bool,
    ) -> None:
        self._cache = cache
        self._pool = pool
        self._catalog = catalog
        self._toolchains = toolchains
        self._agent_digest = agent_digest
        self._refresh = refresh
        self._lock = threading.Lock()
        self._known: dict[str, Future[Done]] = {}

    def key(self, task: Task) -> str:
        """The recipe of a task: SHA-256 over everything that its result depends on."""
        adapter = self._catalog[task.adapter]
        calls = [[call.operation, call.meta, call.prefix] for call in task.calls]
        used = {"uses": [self._catalog[name].digest for name in self._catalog.used(task.adapter)]}
        return recipe(
            stage=str(task.stage), adapter=adapter.digest, agent=self._agent_digest,
            lock=self._toolchains.lock_hash(task.toolchain or adapter.toolchain), calls=calls, parts=task.parts,
            **(used if adapter.uses else {}),
        )  # fmt: skip

    def obtain(self, task: Task) -> Done:
        """The result of a task, made now if this run and the cache do not have it.

        Raises EnvironmentMissing when its toolchain cannot be installed.
        """
        key = self.key(task)
        with self._lock:
            future = self._known.get(key)
            if future is None:
                future, mine = Future(), True
                self._known[key] = future
            else:
                mine = False
        if not mine:
            return future.result()
        try:
            done = self._find_or_make(key, task)
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(done)
        return done

    def _find_or_make(self, key: str, task: Task) -> Done:
        with self._cache.lock(key):
            entry = None if self._refresh and task.refreshed else self._cache.get(key)
            if entry is not None:
                return Done(
                    key,
                    entry.meta,
                    entry.arrays,
                    entry.files,
                    entry.failure,
                    entry.seconds,
                    entry.peak_bytes,
                    cached=True,
                )
            made = self._make(key, task)
            if made.failure is not None and not made.failure.storable:
                return made
            stored = self._cache.put(
                key, stage=str(task.stage), meta=made.meta, arrays=made.arrays, files=made.files, failure=made.failure,
                seconds=made.seconds, peak_bytes=made.peak,
            )  # fmt: skip
        return replace(made, meta=stored.meta, arrays=stored.arrays, files=stored.files)

    def _make(self, key: str, task: Task) -> Done:
        done, used = self._attempt(key, task, fresh=False)
        if done.failure is None or not repeats(done.failure, used=used):
            return done
        again, _ = self._attempt(key, task, fresh=True)
        return replace(again, retry=repeated(done.failure, again.failure))

    def _attempt(self, key: str, task: Task, *, fresh: bool) -> tuple[Done, bool]:
        toolchain = task.toolchain or self._catalog[task.adapter].toolchain
        try:
            with self._pool.lease(toolchain, role=task.role, fresh=fresh, affinity=task.affinity) as agent:
                used = agent.calls > 0
                done = perform(agent, task, key)
                return (done if task.affinity else _left(agent, done)), used
        except AgentFailure as error:  # no agent could be started
            return Done(key, {}, {}, {}, failure_of(error, task.stage), {}, 0, cached=False), False


def perform(agent: Agent, task: Task, key: str = "") -> Done:
    """Make the calls of a task in one agent, in order. The first failure ends the task and is in its result."""
    meta: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    files: dict[str, Path] = {}
    seconds: dict[str, float] = {}
    peak = 0
    for call in task.calls:
        try:
            answer = agent.call(
                task.adapter, call.operation, dict(call.meta), arrays=call.arrays(), files=task.files,
                limits=task.limits,
            )  # fmt: skip
        except AgentFailure as error:
            failure = failure_of(error, task.stage)
            if not call.optional:
                return Done(key, meta, {}, {}, failure, seconds, peak, cached=False)
            meta[call.prefix + call.operation] = {"failure": f"{failure.symptom}: {failure.message}"}
            break
        meta[call.prefix + call.operation] = answer.meta
        arrays.update({call.prefix + name: value for name, value in answer.arrays.items()})
        files.update(answer.files)
        for name, value in answer.seconds.items():
            seconds[name] = seconds.get(name, 0.0) + value
        peak = max(peak, answer.peak_bytes)
    return Done(key, meta, arrays, files, None, seconds, peak, cached=False)


def _left(agent: Agent, done: Done) -> Done:
    """The result of a task that leaves no model for the next one, with a remark where the adapter cannot drop it.

    The next task gets another agent then, and no part of the blame.
    """
    if agent.lost:
        return done
    try:
        agent.reset(RESET)
    except AgentFailure as error:
        agent.close()
        return replace(done, remarks=(f"its agent was replaced, because reset() failed afterwards: {error}",))
    return done


def failure_of(error: AgentFailure, stage: Stage) -> Failure:
    """An exception of the agent's client as a failure of the stage that was announced last, or else of ``stage``."""
    announced = error.stage
    return Failure(
        stage=Stage(announced) if announced in set(Stage) else stage,
        symptom=Symptom(error.symptom),
        message=error.message,
        detail=error.detail,
        log=error.log,
        signal=error.signal,
        types=tuple(error.types),
    )
