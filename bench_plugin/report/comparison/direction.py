"""The direction of a change of status: a cell that got further is progress, one that fell back a regression."""

from __future__ import annotations

from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.report.entries import Entry
from bench_plugin.report.statuses import FAILED, severity
from bench_plugin.results.signature import Signature, signature_of

REGRESSION, PROGRESS, OTHER = "regression", "progress", "other"
UNDECLARED = "undeclared"  # it fails as before, and its known failure holds for another version
STAGES = tuple(str(stage) for stage in Stage)
# Nothing was computed, so that these say nothing of the tool.
SILENT = (Status.NOT_PROVIDED, Status.BOARD_LOST, Status.VERSION_SKEW, "not run")
RAN = (Status.UNVERIFIED, Status.OUTSIDE_BOUND)  # something was computed, and nothing failed


def direction(before: Entry, after: Entry) -> str:
    """Regression, progress, other or undeclared; empty where neither status nor pytest's result changed.

    The first line that fits decides. A *failure* is ERROR, mismatch or unsupported.

    ======================================================  =============================  ===========
    before                                                  after                          direction
    ======================================================  =============================  ===========
    the same status, stage, symptom and result of pytest                                   (none)
    supported                                               any other status               regression
    any other status                                        supported                      progress
    a failure of one version, which an expectation covers   the same of another version,   undeclared
                                                            which none covers
    a failure, which an expectation covers                  one that none covers           regression
    a failure, which no expectation covers                  one that one covers            other
    supported, and pytest failed it                         supported                      progress
    supported                                               supported and slower           (in times)
    supported                                               supported, not expected to be  other
    not provided, not run, board lost, version skew         anything                       other
    anything                                                one of these                   other
    outside our bound                                       a failure or unverified        regression
    a failure or unverified                                 outside our bound              progress
    a failure or unverified, at a stage                     one at a later stage           progress
    a failure or unverified, at a stage                     one at an earlier stage        regression
    unverified                                              a failure at the same stage    regression
    a failure                                               unverified, same stage         progress
    a failure                                               a worse status, same stage     regression
    a failure                                               a better status, same stage    progress
    a failure                                               another symptom, same stage    other
    ======================================================  =============================  ===========

    Stages are in the order of :class:`~bench_plugin.domain.outcome.Stage`, statuses from worst to best in that of
    report/statuses.py. A known failure that passes (pytest fails the item: ``progress``) got further too.
    """
    if _seen(before) == _seen(after):
        return ""
    statuses = before.status, after.status
    if statuses[0] != statuses[1] and Status.SUPPORTED in statuses:
        return PROGRESS if statuses[1] == Status.SUPPORTED else REGRESSION
    if _place(before) == _place(after):
        return _by_result(before, after)
    if any(status in SILENT for status in statuses):
        return OTHER
    if Status.OUTSIDE_BOUND in statuses:
        return PROGRESS if statuses[1] == Status.OUTSIDE_BOUND else REGRESSION
    stages = _reached(before), _reached(after)
    if stages[0] != stages[1]:
        return PROGRESS if stages[1] > stages[0] else REGRESSION
    ranks = severity(statuses[0]), severity(statuses[1])
    if ranks[0] == ranks[1]:
        return OTHER
    return PROGRESS if ranks[1] > ranks[0] else REGRESSION


def _seen(one: Entry) -> tuple[str, ...]:
    return (*_place(one), one.result)


def _place(one: Entry) -> tuple[str, ...]:
    return (one.status, one.stage, one.symptom)


def _by_result(before: Entry, after: Entry) -> str:
    """Of the same status, stage and symptom: what pytest says of it."""
    if after.failed and not before.failed:
        if after.slower or after.status not in FAILED:
            return "" if after.slower else OTHER
        return UNDECLARED if before.versions != after.versions and _fails_as(before, after) else REGRESSION
    if before.failed and not after.failed:
        return PROGRESS if after.status not in FAILED else OTHER
    return OTHER


def _fails_as(before: Entry, after: Entry) -> bool:
    """Whether two failures of one symptom say the same, and the later one is not much further off."""
    return before.result == "xfailed" and _signature(before).covers(_signature(after))


def _signature(one: Entry) -> Signature:
    """The signature as far as an entry says it: frames of a crash are in the detail of its row alone."""
    symptom = Symptom(one.symptom) if one.symptom else None
    return signature_of(Outcome(Status(one.status), None, symptom, one.reason, numbers=one.numbers))


def _reached(one: Entry) -> int:
    """How many stages the cell got through; a cell that says no stage, such as a compiled one, got through all."""
    return STAGES.index(one.stage) if one.stage in STAGES else len(STAGES) if one.status in RAN else 0
