"""The cell log: what one cell gathers from its stages until its outcome is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench_plugin.compare.verdict import AGREE, UNVERIFIED, Comparison
from bench_plugin.domain.outcome import STATUS_OF_SYMPTOM, Cause, Failure, Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.pipeline.retry import CARRIED
from bench_plugin.pipeline.stages import Done


class CellLog:
    """What one computation of one cell gathers; not shared with other threads.

    ``timings`` are seconds by stage, ``peaks`` bytes of resident memory by stage, ``cached`` the stages that came from
    the cache, ``used`` those that a process made which had done something before, ``numbers`` the figures that the row
    documents (results/numbers.py). ``reusable`` is false once a stage ended in a failure that may not be stored.
    """

    def __init__(self, versions: Mapping[str, str]) -> None:
        self.timings: dict[str, float] = {}
        self.peaks: dict[str, int] = {}
        self.cached: list[str] = []
        self.used: list[str] = []
        self.flags: list[str] = []
        self.numbers: dict[str, Any] = {}
        self.artefacts: dict[str, Any] = {}
        self.placement: dict[str, Any] = {}
        self.retry: dict[str, Any] = {}
        self.versions = dict(versions)
        self.log = ""
        self.converted = False
        self.reusable = True
        self._harness: list[str] = []  # what the harness or the machine failed with, in stages of this cell

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Forget the numbers, the flags and the placement that are added meanwhile: they are of another run."""
        numbers, flags, placement = dict(self.numbers), list(self.flags), dict(self.placement)
        try:
            yield
        finally:
            self.numbers, self.flags, self.placement = numbers, flags, placement

    def depends_on(self, failure: Failure | None) -> None:
        """Note that the outcome depends on a stage that ended so; None is a stage that finished.

        A failure that may not be stored can be gone in the next run, and so can all that was concluded from it.
        """
        if failure is not None and not failure.storable:
            self.reusable = False
        if failure is not None and failure.message and _of_the_harness(failure):
            self._harness.append(failure.message)

    def credit(self, name: str, done: Done) -> Done:
        """Add a stage's seconds, peak memory in bytes, use of the cache and retry under ``name``; return it."""
        self.depends_on(done.failure)
        for stage, seconds in done.seconds.items():
            if stage != "call":
                self.timings[stage] = round(self.timings.get(stage, 0.0) + seconds, 6)
        if done.peak:  # a call that failed measured nothing
            self.peaks[name] = max(self.peaks.get(name, 0), done.peak)
        if done.cached:
            self.cached.append(name)
        if not done.fresh:
            self.used.append(name)
        self.note_retry(done.retry)
        for remark in done.remarks:
            self.flag(f"{name}: {remark}")
        for meta in done.meta.values():
            for shim in meta.get("shims", []) if isinstance(meta, Mapping) else []:
                self.flag(f"shim: {shim}")
            for remark in meta.get("remarks", []) if isinstance(meta, Mapping) else []:
                self.flag(f"{name}: {remark}")
        return done

    def note_retry(self, retry: Mapping[str, Any]) -> None:
        """Add what the row says of a repeated call; a result that depended on an agent's past is flagged."""
        if retry:
            self.retry = dict(retry)
        if retry.get("symptom"):
            self.flag(CARRIED)

    def note_file(self, described: Mapping[str, Any]) -> None:
        """Add what onnx's checker says of the cell's ONNX file; an invalid file is flagged with the objection."""
        if not described["valid"]:
            self.flag(f"invalid: {described['objection']}")
        kept = ("ir", "opsets", "custom_domains", "external_data", "nodes", "operators", "bytes", "parameters")
        self.artefacts["model.onnx"] = {key: described.get(key) for key in kept}

    def flag(self, text: str) -> None:
        """Add a remark that the grid shows beside the status."""
        if text not in self.flags:
            self.flags.append(text)

    def failed(self, failure: Failure) -> Outcome:
        """The outcome of a cell whose stage failed; ``Not provided`` where the adapter lacks something here."""
        self.depends_on(failure)
        reason = failure.message or f"{failure.stage} ended with {failure.symptom}"
        if failure.not_provided:
            return self.outcome(Status.NOT_PROVIDED, reason)
        if failure.symptom is Symptom.EXCEPTION and failure.types:  # the message of a KeyError is only the key
            reason = f"{failure.types[0].rpartition('.')[2]}: {reason}"
        return self.outcome(
            STATUS_OF_SYMPTOM[failure.symptom],
            reason,
            stage=failure.stage,
            symptom=failure.symptom,
            detail=failure.detail,
            log=failure.log,
        )

    def note_comparison(self, comparison: Comparison) -> None:
        """Add the numbers and the remarks of a comparison."""
        self.numbers.update(comparison.numbers)
        for note in comparison.notes:
            self.flag(note)

    def compared(self, comparison: Comparison) -> Outcome:
        """The outcome of a comparison, whose numbers were added before with :meth:`note_comparison`."""
        if comparison.status == AGREE:
            return self.outcome(Status.SUPPORTED)
        if comparison.status == UNVERIFIED:
            return self.unverified(comparison.kind or Unverified.HARNESS, comparison.reason, stage=Stage.COMPARE)
        return self.outcome(Status.MISMATCH, comparison.reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)

    def unverified(self, kind: Unverified, reason: str, *, stage: Stage | None = None, log: str = "") -> Outcome:
        """The outcome of a cell about which nothing was proven.

        Where the reason or a flag is a failure of the harness or of the machine, the kind is ``harness`` in any case: a
        machine without memory tells nothing about the model's references or its sensitivity.
        """
        if any(message in text for message in self._harness for text in (reason, *self.flags)):
            kind = Unverified.HARNESS
        return self.outcome(Status.UNVERIFIED, reason, stage=stage, log=log, kind=kind)

    def outcome(
        self,
        status: Status,
        reason: str = "",
        *,
        stage: Stage | None = None,
        symptom: Symptom | None = None,
        detail: str = "",
        log: str = "",
        kind: Unverified | None = None,
    ) -> Outcome:
        """The outcome with everything gathered so far; ``kind`` is that of an unverified cell."""
        return Outcome(
            status=status, stage=stage, symptom=symptom, reason=reason, detail=detail, converted=self.converted,
            verified=status is Status.SUPPORTED, numbers=self.numbers, timings=self.timings, peaks=self.peaks,
            versions=self.versions, artefacts=self.artefacts, stages_cached=tuple(self.cached), flags=tuple(self.flags),
            placement=self.placement, retry=self.retry, log=log or self.log,
            reusable=self.reusable, unverified=kind,
        )  # fmt: skip


def _of_the_harness(failure: Failure) -> bool:
    """Whether the harness or the machine failed, such as for want of memory or of room on a disk."""
    of_the_machine = failure.symptom is Symptom.HARNESS or failure.cause == Cause.ENVIRONMENT
    return of_the_machine and not failure.not_provided
