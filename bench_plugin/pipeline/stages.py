"""The stage runner: obtains the result of a stage from this run, the cache or an agent, and makes each only once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.agent.causes import missing_resource
from bench_plugin.domain.outcome import Cause, Failure, Stage, Symptom
from bench_plugin.domain.recipes import recipe
from bench_plugin.inventory.adapters import Catalog
from bench_plugin.inventory.fingerprints import Fingerprints
from bench_plugin.pipeline.array_sets import digests_in, digests_of
from bench_plugin.pipeline.board_stages import PROGRAM, BoardTask, performed
from bench_plugin.pipeline.cache import Cache, Entry
from bench_plugin.pipeline.retry import Attempted, confirmation, settled
from bench_plugin.reach.processes.given_files import GivenFile, digest
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits
from bench_plugin.reach.processes.supervisor import RESET, AgentPool

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

PROCESS = "process"  # beside the metadata by operation, in the cache: whether a fresh process made the entry


@dataclass(frozen=True)
class CallSpec:
    """A call of one operation of an adapter.

    ``arrays`` makes the arrays to send, of any shapes and dtypes; their digests go into the recipe. ``prefix`` stands
    before the names of the results. The failure of an ``optional`` call is a part of the stage's result and does not
    fail the stage; but with one that may be gone tomorrow, the result is not stored. Without ``take_files`` the files
    of its answer are left in the agent's folder, because nobody will read them.
    """

    operation: str
    meta: Mapping[str, Any]
    arrays: Callable[[], Arrays] = dict
    prefix: str = ""
    optional: bool = False
    take_files: bool = True


@dataclass(frozen=True)
class Task:
    """What a stage needs: the adapter that does it, its calls and files, and the parts of its recipe.

    ``parts`` go into the recipe beside the agent, the fingerprint of the tools and the content of arrays and files, and
    must name every other input.
    An agent that did a task with the same ``affinity`` is preferred, because it still has the model in memory. Tasks of
    different ``role`` are never done by the same process. ``toolchain`` is that of the adapter unless it names another.
    With a ``board`` the agent is that of the board; what it did is never stored, because a row must prove the place.
    ``mode`` is the operating mode that the board is brought into for it.
    ``refreshed`` is false for stages that ``--bench-refresh`` does not repeat, such as the corpus of ONNX's tests.
    """

    stage: Stage
    adapter: str
    calls: tuple[CallSpec, ...]
    parts: Mapping[str, Any]
    limits: Limits
    files: Mapping[str, Path | GivenFile] = field(default_factory=dict)
    affinity: str = ""
    role: str = ""
    toolchain: str = ""
    board: str = ""
    mode: str = ""
    refreshed: bool = True


@dataclass(frozen=True, kw_only=True)
class Done(Attempted):
    """A finished stage: metadata by operation, arrays (of any shapes and dtypes) and files by name; or its failure.

    ``seconds`` is by announced stage, as the agent measured it; ``peak`` is the largest resident memory in bytes;
    ``key`` is the recipe. ``made`` tells the attempt that made it from any other of the same recipe. ``storable`` is
    false for a result that holds the failure of an optional call that must not be stored. ``digests`` are the SHA-256
    of its content as in :class:`bench_plugin.pipeline.cache.Entry`. ``remarks`` are flags of the row.
    """

    key: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak: int = 0
    cached: bool = False
    made: str = ""
    storable: bool = True
    digests: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def given(self) -> dict[str, GivenFile]:
        """Its files for the calls of another stage, with the digests that they must have there."""
        return {name: GivenFile(path, self.digests.get(name, "")) for name, path in self.files.items()}

    @property
    def content(self) -> str:
        """One hash of all its arrays and files: two makings of one recipe may differ."""
        return recipe(stage=self.key, digests=dict(self.digests))


class Stages:
    """Obtains stages for all cells of a run; safe to use from several threads."""

    def __init__(
        self,
        cache: Cache,
        pool: AgentPool,
        catalog: Catalog,
        fingerprints: Fingerprints,
        *,
        agent_digest: str,
        refresh: bool,
    ) -> None:
        self._cache = cache
        self._pool = pool
        self._catalog = catalog
        self._fingerprints = fingerprints
        self._agent_digest = agent_digest
        self._refresh = refresh
        self._lock = threading.Lock()
        self._known: dict[str, Future[Done]] = {}

    def key(self, task: Task) -> str:
        """The recipe of a task: SHA-256 over everything that its result depends on."""
        adapter = self._catalog[task.adapter]
        calls = [[call.operation, call.meta, call.prefix] for call in task.calls]
        target = next((call.meta["target"] for call in task.calls if "target" in call.meta), None)
        tools = self._fingerprints.digest(task.adapter, task.toolchain or adapter.toolchain, target)
        return recipe(
            stage=str(task.stage), tools=tools, agent=self._agent_digest, calls=calls, parts=task.parts,
            given=given_content(task), **({"board": task.board} if task.board else {}),
        )  # fmt: skip

    def obtain(self, task: Task, *, fresh: bool = False) -> Done:
        """The result of a task, made now if this run and the cache do not have it.

        With ``fresh`` a result counts only if a process made it that had done nothing before: any other is replaced for
        the rest of this run and in the cache. Raises EnvironmentMissing when its toolchain cannot be installed.
        """
        key = self.key(task)
        done = self._once(key, lambda: self._find_or_make(key, task, fresh=fresh))
        if not fresh or done.fresh or done.failure is not None:
            return done
        again = self._once(f"{key} fresh", lambda: self._make_again(key, task, done))
        with self._lock:
            self._known[key] = self._known[f"{key} fresh"]
        return again

    def apart(self, task: Task, make: Callable[[LeasedAgent, Limits], Done], *, only: str = "") -> Done:
        """What ``make`` gives with a fresh agent that has its machine or its board alone: never stored, nor reused.

        ``make`` makes the task's calls within the given limits. ``only`` names the board that it must be. Only what a
        lost board did not finish is tried again.
        Raises EnvironmentMissing when the task's toolchain cannot be installed.
        """
        toolchain = task.toolchain or self._catalog[task.adapter].toolchain
        if task.board:
            on_board = replace(self._board_task(task, toolchain, make, ""), only=only)
            return performed(self._pool, on_board, fresh=True)
        try:
            with self._pool.lease(toolchain, role=task.role, fresh=True, alone=True) as agent:
                try:
                    return make(agent, task.limits)
                finally:
                    agent.close()
        except AgentFailure as error:
            return not_started(error, task.stage)

    @contextmanager
    def apart_ahead(self, task: Task, roles: Sequence[str]) -> Iterator[Callable[[], None]]:
        """What starts the agents of the next stages :meth:`apart` side by side, one for each role; called once here.

        Most of a start is the import of a tool, which keeps one processor busy. What was started and not used ends.
        On a board nothing is started ahead.
        """
        toolchain = task.toolchain or self._catalog[task.adapter].toolchain

        def start() -> None:
            if not task.board:
                self._pool.prepare_all(toolchain, roles=roles, adapter=task.adapter)

        try:
            start()
            yield start
        finally:
            self._pool.end_prepared(toolchain, roles=roles)

    def _once(self, name: str, make: Callable[[], Done]) -> Done:
        """The result of this name; the first thread that asks for it makes it, the others wait."""
        with self._lock:
            future = self._known.get(name)
            if future is None:
                future, mine = Future(), True
                self._known[name] = future
            else:
                mine = False
        if not mine:
            return future.result()
        try:
            done = make()
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(done)
        return done

    def _find_or_make(self, key: str, task: Task, *, fresh: bool) -> Done:
        with self._cache.lock(key, f"the stage {task.stage} of {task.adapter}"):
            found = None if task.board or (self._refresh and task.refreshed) else self._found(key)
            if found is not None:
                return found if found.fresh else self._found_again(found) or found
            made = settled(lambda anew: self._attempt(key, task, fresh=anew), fresh=fresh)
            return self._stored(key, task, made)

    def _make_again(self, key: str, task: Task, done: Done) -> Done:
        """The same task in a fresh process, stored as what replaces ``done``.

        What used ``done`` is used again where the results are the same; otherwise whatever follows is made of the new
        ones, because its recipe names the key of what it was made of.
        """
        with self._cache.lock(key, f"the stage {task.stage} of {task.adapter}, again in a fresh process"):
            found = self._found_again(done)
            if found is not None:
                return found
            own = _again_key(done)
            again = settled(lambda fresh: self._attempt(own, task, fresh=fresh), fresh=True)
            return _replacing(done, self._stored(own, task, again))

    def _found_again(self, done: Done) -> Done | None:
        """What an earlier run stored in place of ``done``, or None."""
        again = self._found(_again_key(done))
        return None if again is None else _replacing(done, again)

    def _found(self, key: str) -> Done | None:
        entry = self._cache.get(key)
        return None if entry is None else _of_entry(key, entry)

    def _stored(self, key: str, task: Task, done: Done) -> Done:
        """The result as the cache will give it back, or as it is where it must not be stored."""
        if task.board or not done.storable or (done.failure is not None and not done.failure.storable):
            return replace(done, digests=content_digests(done))
        made = os.urandom(8).hex()
        stored = self._cache.put(
            key, stage=str(task.stage), meta={**done.meta, PROCESS: {"fresh": done.fresh, "made": made}},
            arrays=done.arrays, files=done.files, failure=done.failure, seconds=done.seconds, peak_bytes=done.peak,
        )  # fmt: skip
        digests = stored.digests or content_digests(done)
        _remove_stored(done, stored)
        return replace(done, arrays=stored.arrays, files=stored.files, made=made, digests=digests)

    def _attempt(self, key: str, task: Task, *, fresh: bool) -> Done:
        toolchain = task.toolchain or self._catalog[task.adapter].toolchain
        if task.board:
            return self._on_board(key, task, toolchain, fresh=fresh)
        try:
            with self._pool.lease(toolchain, role=task.role, fresh=fresh, affinity=task.affinity) as agent:
                done = perform(agent, task, key)
                return done if task.affinity else _left(agent, done)
        except AgentFailure as error:
            return not_started(error, task.stage, key)

    def _on_board(self, key: str, task: Task, toolchain: str, *, fresh: bool) -> Done:
        def done(agent: LeasedAgent, limits: Limits) -> Done:
            made = perform(agent, replace(task, limits=limits), key)
            return made if task.affinity else _left(agent, made)

        on_board = self._board_task(task, toolchain, done, key)
        return performed(self._pool, on_board, fresh=fresh)

    def _board_task(
        self, task: Task, toolchain: str, make: Callable[[LeasedAgent, Limits], Done], key: str
    ) -> BoardTask:
        return BoardTask(
            task.board, PROGRAM in task.files, toolchain, task.role, task.affinity, task.limits, make,
            lambda error: not_started(error, task.stage, key), mode=task.mode,
        )  # fmt: skip


def _of_entry(key: str, entry: Entry) -> Done:
    meta = dict(entry.meta)
    process = meta.pop(PROCESS, {})
    return Done(
        key=key, meta=meta, arrays=entry.arrays, files=entry.files, failure=entry.failure, seconds=entry.seconds,
        peak=entry.peak_bytes, cached=True, retry=confirmation(entry.failure), fresh=bool(process.get("fresh")),
        made=str(process.get("made", "")), digests=entry.digests,
    )  # fmt: skip


def _remove_stored(done: Done, stored: Entry) -> None:
    """Remove the files of a result that the cache has now: twice the artefacts of a large model fill a disk."""
    for name, path in done.files.items():
        if stored.files[name] != path:
            with suppress(OSError):  # what is left is removed at the end of the run
                path.unlink()


def _again_key(done: Done) -> str:
    """The key of what replaces this result, and no later one that ``--bench-refresh`` makes by the same recipe."""
    return recipe(stage="again", of=done.key, made=done.made)


def _replacing(done: Done, again: Done) -> Done:
    """The result that replaces ``done``, under the key of ``done`` if both are the same."""
    return replace(again, key=done.key) if _same(done, again) else again


def _same(one: Done, other: Done) -> bool:
    """Whether files and arrays are the same, byte by byte."""
    return other.failure is None and one.digests == other.digests


def given_content(task: Task) -> dict[str, Any]:
    """The digests of all arrays and files of a task's calls. Raises OSError for a file that cannot be read."""
    files = {name: GivenFile(one) if isinstance(one, Path) else one for name, one in task.files.items()}
    return {
        "arrays": [list(digests_in(call.arrays).items()) for call in task.calls],
        "files": {name: one.content for name, one in files.items()},
    }  # fmt: skip


def content_digests(done: Done) -> dict[str, str]:
    """The SHA-256 of the arrays and files of a stage that was not stored, named as in the cache's entries."""
    arrays = {f"array:{name}": found for name, found in digests_of(done.arrays).items()}
    return {**arrays, **{name: digest(path) for name, path in done.files.items()}}


def perform(agent: LeasedAgent, task: Task, key: str = "") -> Done:
    """Make the calls of a task in one agent, in order. The first failure ends the task and is in its result."""
    fresh = agent.calls == 0
    meta: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    files: dict[str, Path] = {}
    seconds: dict[str, float] = {}
    peak, storable = 0, True
    for call in task.calls:
        try:
            answer = agent.call(
                task.adapter, call.operation, dict(call.meta), arrays=call.arrays(), files=task.files,
                limits=task.limits, take_files=call.take_files,
            )  # fmt: skip
        except AgentFailure as error:
            failure = failure_of(error, task.stage)
            if not call.optional:
                return Done(key=key, meta=meta, failure=failure, seconds=seconds, peak=peak, fresh=fresh)
            meta[call.prefix + call.operation] = {"failure": f"{failure.symptom}: {failure.message}"}
            storable = failure.storable or (failure.symptom is Symptom.EXCEPTION and failure.confirmable)
            break
        meta[call.prefix + call.operation] = answer.meta
        arrays.update({call.prefix + name: value for name, value in answer.arrays.items()})
        files.update(answer.files)
        for name, value in answer.seconds.items():
            seconds[name] = seconds.get(name, 0.0) + value
        peak = max(peak, answer.peak_bytes)
    return Done(
        key=key, meta=meta, arrays=arrays, files=files, failure=None, seconds=seconds, peak=peak, fresh=fresh,
        storable=storable,
    )  # fmt: skip


def not_started(error: AgentFailure, stage: Stage, key: str = "") -> Done:
    """The result of a task whose agent did not start, which says nothing of what the task is about.

    One whose board does not answer says so, at the stage before.
    """
    failed = failure_of(error, stage)
    lost = failed.symptom is Symptom.BOARD_LOST
    failure = (
        replace(failed, stage=Stage.DEPLOY, cause=Cause.ENVIRONMENT)
        if lost
        else replace(failed, symptom=Symptom.HARNESS, cause=Cause.ENVIRONMENT)
    )
    return Done(key=key, failure=failure, fresh=True)


def _left(agent: LeasedAgent, done: Done) -> Done:
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
    symptom = Symptom(error.symptom)
    cause = Cause(error.cause) if error.cause in set(Cause) else Cause.UNKNOWN
    if symptom is Symptom.CRASH and missing_resource(f"{error.message}\n{error.detail}"):
        cause = Cause.ENVIRONMENT  # a process that dies of a full disk, or by the kernel's hand, may live tomorrow
    return Failure(
        stage=Stage(announced) if announced in set(Stage) else stage,
        symptom=symptom,
        message=error.message,
        detail=error.detail,
        log=error.log,
        signal=error.signal,
        types=tuple(error.types),
        cause=cause,
    )
