"""The outcome of one cell: stage, symptom, status and numbers. It is made once and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bench_plugin.domain.texts.messages import normalised
from bench_plugin.domain.thresholds import SLOWER


class Stage(StrEnum):
    """The stages of a cell, in order."""

    BUILD = "build"
    REFERENCE = "reference"
    EXPORT = "export"
    CHECK = "check"
    IMPORT = "import"
    COMPILE = "compile"
    DEPLOY = "deploy"
    RUN = "run"
    COMPARE = "compare"
    TIME = "time"


class Symptom(StrEnum):
    """How a stage failed."""

    EXCEPTION = "exception"
    UNSUPPORTED = "unsupported"
    INVALID_MODEL = "invalid-model"
    MISMATCH = "mismatch"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out-of-memory"
    VERSION_SKEW = "version-skew"
    HARNESS = "harness"
    BOARD_LOST = "board-lost"
    NONDETERMINISTIC = "nondeterministic"


class Status(StrEnum):
    """What the grid shows for a cell, in the spelling of the published vocabulary (docs/vocabulary.md)."""

    SUPPORTED = "supported"
    MISMATCH = "mismatch"
    ERROR = "ERROR"
    UNSUPPORTED = "unsupported"
    VERSION_SKEW = "version skew"
    NOT_PROVIDED = "Not provided"
    UNVERIFIED = "unverified"
    OUTSIDE_BOUND = "outside our bound"
    BOARD_LOST = "board-lost"


class Unverified(StrEnum):
    """Why nothing was proven about a cell: what a person would have to change so that it can be judged."""

    NOT_RUN = "not run"  # compiled, but there is no hardware here that it could run on
    BLOCKED = "blocked"  # an earlier stage failed, which has a cell of its own
    NO_REFERENCE = "no reference"  # there is nothing that the outputs could be compared with
    ILL_CONDITIONED = "ill-conditioned"  # the noise of the precision alone is beyond the cap of the tolerance
    NOT_SENSITIVE = "not sensitive"  # the comparison would not have noticed a wrong model
    HARNESS = "harness"  # the harness does not support the inputs or the outputs, or it or the machine failed


# The table of statuses in docs/vocabulary.md, for a failure: symptom -> status.
STATUS_OF_SYMPTOM: Mapping[Symptom, Status] = {
    Symptom.EXCEPTION: Status.ERROR,
    Symptom.INVALID_MODEL: Status.ERROR,
    Symptom.CRASH: Status.ERROR,
    Symptom.TIMEOUT: Status.ERROR,
    Symptom.OUT_OF_MEMORY: Status.ERROR,
    Symptom.HARNESS: Status.ERROR,
    Symptom.UNSUPPORTED: Status.UNSUPPORTED,
    Symptom.MISMATCH: Status.MISMATCH,
    Symptom.NONDETERMINISTIC: Status.MISMATCH,
    Symptom.VERSION_SKEW: Status.VERSION_SKEW,
    Symptom.BOARD_LOST: Status.BOARD_LOST,
}

# What a tool says of the model, which depends on the recipe alone unless it speaks of the environment.
STORABLE_SYMPTOMS = frozenset({Symptom.UNSUPPORTED, Symptom.INVALID_MODEL})

# Failures that may be stored once they came twice in fresh processes.
CONFIRMABLE_SYMPTOMS = frozenset({Symptom.EXCEPTION, Symptom.CRASH})


class Cause(StrEnum):
    """What a failure comes from, as far as it is known (agent/causes.py)."""

    TOOL = "tool"
    ENVIRONMENT = "environment"
    UNKNOWN = ""


# These say what the machine lacked, which another run may find.
OF_THE_MACHINE = frozenset({Status.NOT_PROVIDED, Status.BOARD_LOST})


@dataclass(frozen=True)
class Failure:
    """A stage that did not finish.

    ``message`` is the first useful line of the real cause, ``detail`` the whole text, such as a traceback, already cut
    to a bounded length. ``log`` is the path of the agent's log, ``signal`` the number of a signal that ended the agent.
    ``types`` are the class names of the agent's exception, most derived first. ``cause`` says whether it is the tool's
    own, ``confirmed`` that it came twice with one signature, each time in a process that had done nothing before.
    """

    stage: Stage
    symptom: Symptom
    message: str
    detail: str = ""
    log: str = ""
    signal: int | None = None
    types: tuple[str, ...] = ()
    cause: Cause = Cause.UNKNOWN
    confirmed: bool = False

    @property
    def storable(self) -> bool:
        """Whether it depends on nothing but its recipe, so that a later run may use it without a new attempt.

        That holds for what the tool says of the model, for exceptions that the adapter declares as the tool's own, and
        for what was confirmed; never for what speaks of the environment, such as an absent program or a full disk.
        """
        if self.cause == Cause.ENVIRONMENT:
            return False
        declared = self.symptom == Symptom.EXCEPTION and self.cause == Cause.TOOL
        return self.symptom in STORABLE_SYMPTOMS or declared or (self.confirmable and self.confirmed)

    @property
    def confirmable(self) -> bool:
        """Whether it may be stored once it came twice in fresh processes with one signature."""
        return self.symptom in CONFIRMABLE_SYMPTOMS and self.cause != Cause.ENVIRONMENT

    @property
    def signature(self) -> tuple[str, str, int | None, str]:
        """What two attempts that fail alike have in common: stage, symptom, signal, and message without what varies."""
        return str(self.stage), str(self.symptom), self.signal, normalised(self.message)

    @property
    def not_provided(self) -> bool:
        """Whether the adapter says that something which it needs is not on this machine."""
        return bool(self.types) and self.types[0].rpartition(".")[2] == "NotProvided"


@dataclass(frozen=True)
class Outcome:
    """The verdict on one cell, before expectations are applied.

    ``converted`` says that the conversion itself succeeded, ``verified`` that numbers were compared and agree.
    ``timings`` are seconds and ``peaks`` bytes of resident memory by stage; ``numbers`` are those of
    results/numbers.py. ``versions`` is by distribution, ``artefacts`` gives content hash and size in bytes by name, and
    ``placement`` says which part ran where. ``reusable`` says that a resumed run may use it: it depends on no failure
    that may be gone in another run. ``unverified`` is the kind of an unverified cell, and None for every other one.
    """

    status: Status
    stage: Stage | None = None
    symptom: Symptom | None = None
    reason: str = ""
    detail: str = ""
    converted: bool = False
    verified: bool = False
    numbers: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    peaks: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    artefacts: Mapping[str, Any] = field(default_factory=dict)
    stages_cached: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    placement: Mapping[str, Any] = field(default_factory=dict)
    retry: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""
    reusable: bool = True
    unverified: Unverified | None = None

    def __post_init__(self) -> None:
        """An outcome that says what the machine lacked, or how the benchmark itself failed, is never reusable.

        Raises ValueError for an unverified outcome without a kind, and for a kind of another status.
        """
        if (self.status is Status.UNVERIFIED) != (self.unverified is not None):
            raise ValueError(f"{self.status} has kind {self.unverified}; exactly the unverified have one")
        if self.status in OF_THE_MACHINE or self.symptom is Symptom.HARNESS:
            object.__setattr__(self, "reusable", False)

    @property
    def slower(self) -> str:
        """By how much its time is more than that of the artefact that it was measured against; empty where it is not.

        It is no failure of the tool: the status stays what it is, and pytest fails the item.
        """
        against = self.numbers.get("against") or {}
        return str(against.get("text", SLOWER)) if against.get("verdict") == SLOWER else ""

    @property
    def failed(self) -> bool:
        """Whether the pytest item fails unless an expectation covers the outcome."""
        return self.status in {Status.MISMATCH, Status.ERROR, Status.UNSUPPORTED}

    @property
    def passed(self) -> bool:
        """Whether the pytest item passes; a result outside nothing but our own bound is no defect of the tool."""
        return self.status in {Status.SUPPORTED, Status.OUTSIDE_BOUND}
