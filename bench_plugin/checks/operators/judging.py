"""The outcome of a case from the result of its run: the two verdicts, and what a failure says."""

from __future__ import annotations

import math

from bench_plugin.checks.compiled import carriers
from bench_plugin.checks.operators.stored_runs import CaseRun
from bench_plugin.compare.operators.stock import stock
from bench_plugin.compare.operators.strict import Verdict, strict
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.inventory import low_bit_cases
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.tasks.corpus import CaseData


def judged(data: CaseData, ran: CaseRun, log: CellLog, *, loose: bool) -> Outcome:
    """The outcome of a result; ``loose`` permits the limits of fast math.

    What only our bound refuses and ONNX's own runner takes is no defect: it is ``outside our bound``.
    """
    few_bits = data.row["category"] == low_bit_cases.CATEGORY
    _note(ran, log, few_bits=few_bits and ran.failure is None)
    if ran.failure is not None:
        if ran.failure.symptom is Symptom.HARNESS:
            return log.unverified(Unverified.HARNESS, f"harness: {ran.failure.message}", log=ran.failure.log)
        return log.failed(ran.failure)
    log.converted = True
    by_stock = stock(data.expected, ran.outputs, rtol=data.row["rtol"], atol=data.row["atol"])
    by_rule = verdict_of(data, ran, by_stock, loose=loose)
    log.numbers.update(
        rule=by_rule.bound or data.rule.text,
        strict="pass" if by_rule.passed else "fail",
        stock="pass" if by_stock.passed else "fail",
    )
    ratio = by_rule.ratio  # of a failure that no bound measures it is that of other values, which are right
    if ratio is not None and math.isfinite(ratio) and (by_rule.passed or ratio > 1):
        log.numbers["needed"] = float(f"{ratio:.3g}")
    if data.no_truth:
        log.numbers["truth"] = f"the test's own: {data.no_truth}"
    for note in by_rule.notes:
        log.flag(note)
    if ran.unsteady:
        return log.outcome(Status.MISMATCH, ran.unsteady, stage=Stage.COMPARE, symptom=Symptom.NONDETERMINISTIC)
    if by_rule.passed:
        return log.outcome(Status.SUPPORTED)
    if by_stock.passed and by_rule.by_bound:
        return log.outcome(Status.OUTSIDE_BOUND, by_rule.reason, stage=Stage.COMPARE)
    return log.outcome(Status.MISMATCH, by_rule.reason, stage=Stage.COMPARE, symptom=Symptom.MISMATCH)


def verdict_of(data: CaseData, ran: CaseRun, by_stock: Verdict | None = None, *, loose: bool) -> Verdict:
    """The verdict by the rule of the case, or that of ONNX's runner where the rule needs a spread and there is none."""
    if data.no_truth and data.rule.need == "spread":
        return by_stock or stock(data.expected, ran.outputs, rtol=data.row["rtol"], atol=data.row["atol"])
    return strict(data.expected, ran.outputs, data.truths, data.rule, loose=loose)


def _note(ran: CaseRun, log: CellLog, *, few_bits: bool) -> None:
    """Credit the run to the log; what ran with integers of few bits says whether they are emulated."""
    log.timings.update(ran.seconds)
    log.placement.update(ran.meta.get("placement", {}))
    if few_bits:
        carriers.note(log)
    log.note_retry(ran.retry)
    if ran.peak:
        log.peaks["run"] = ran.peak
    for shim in ran.meta.get("shims", []):
        log.flag(f"shim: {shim}")
    if ran.cached:
        log.cached.append("run")
    if ran.deterministic is not None:
        log.numbers["deterministic"] = ran.deterministic
