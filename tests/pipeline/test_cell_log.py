"""The cell log: whether the outcome depends on a failure that may be gone in another run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench_plugin.compare.verdict import unverified
from bench_plugin.domain.outcome import Cause, Failure, Stage, Status, Symptom, Unverified
from bench_plugin.pipeline.cell_log import CellLog
from bench_plugin.pipeline.stages import Done


def done(symptom: Symptom | None) -> Done:
    failure = None if symptom is None else Failure(Stage.EXPORT, symptom, "why")
    return Done(key="key", failure=failure, fresh=True)


@pytest.mark.parametrize(
    ("symptom", "reusable"),
    [
        (None, True),
        (Symptom.UNSUPPORTED, True),
        (Symptom.INVALID_MODEL, True),
        (Symptom.CRASH, False),
        (Symptom.TIMEOUT, False),
        (Symptom.OUT_OF_MEMORY, False),
        (Symptom.HARNESS, False),
        (Symptom.BOARD_LOST, False),
    ],
)
def test_a_conclusion_lasts_as_long_as_the_stages_that_it_depends_on(symptom: Symptom | None, reusable: bool) -> None:
    log = CellLog({})
    log.credit("export", done(symptom))
    log.credit("check", done(None))
    assert log.unverified(Unverified.BLOCKED, "export failed").reusable is reusable


@pytest.mark.parametrize("kind", [Unverified.NO_REFERENCE, Unverified.NOT_SENSITIVE, Unverified.BLOCKED])
def test_what_the_machine_failed_with_is_no_property_of_the_model(kind: Unverified) -> None:
    for symptom, found in ((Symptom.HARNESS, Unverified.HARNESS), (Symptom.EXCEPTION, kind)):
        log = CellLog({})
        log.credit("mutants", done(symptom))
        assert log.unverified(kind, "mutants could not be run: why").unverified is found
        assert log.unverified(kind, "something else").unverified is kind, "the failure is not what decided"
        by_comparison = log.compared(unverified(kind, "fp16 could not be emulated: why"))
        assert by_comparison.unverified is found
        log.flag("the layers were not run: why")
        assert log.unverified(kind, "something else").unverified is found, "what was not compared might have decided"


def test_a_full_disk_is_the_machines_whatever_the_symptom_and_what_is_not_provided_is_not() -> None:
    text = "[Errno 28] No space left on device"
    full = Failure(Stage.EXPORT, Symptom.EXCEPTION, text, cause=Cause.ENVIRONMENT)
    lacking = replace(full, types=("bench_plugin.agent.adapter.NotProvided",))
    for failure, found in ((full, Unverified.HARNESS), (lacking, Unverified.BLOCKED)):
        log = CellLog({})
        log.depends_on(failure)
        assert log.unverified(Unverified.BLOCKED, f"export failed: exception at export: {text}").unverified is found


def test_a_failure_of_the_machine_without_words_decides_nothing() -> None:
    log = CellLog({})
    log.depends_on(Failure(Stage.RUN, Symptom.HARNESS, ""))
    assert log.unverified(Unverified.BLOCKED, "export failed").unverified is Unverified.BLOCKED


def test_a_stage_that_failed_and_was_not_credited_counts_too() -> None:
    log = CellLog({})
    assert not log.failed(Failure(Stage.RUN, Symptom.TIMEOUT, "")).reusable
    assert not log.outcome(Status.SUPPORTED).reusable


def test_a_stage_that_measured_no_memory_has_no_peak() -> None:
    log = CellLog({})
    log.credit("compile", done(Symptom.UNSUPPORTED))
    log.credit("run", Done(key="key", failure=None, peak=7))
    log.credit("run", Done(key="key", failure=None, peak=5))
    assert log.peaks == {"run": 7}


def test_a_row_says_how_many_nodes_of_each_operator_its_file_has() -> None:
    log = CellLog({})
    log.note_file({"valid": True, "objection": "", "opsets": {"ai.onnx": 17}, "operators": {"Conv": 2}, "inputs": []})
    assert log.artefacts["model.onnx"]["operators"] == {"Conv": 2} and "inputs" not in log.artefacts["model.onnx"]


def test_what_is_logged_of_another_run_is_not_the_cells() -> None:
    log = CellLog({})
    log.flag("own")
    log.numbers["E"], log.placement["rounded_as"] = 0.5, "as written"
    with log.kept():
        log.flag("other")
        log.numbers["E"], log.placement["rounded_as"] = 0.25, "biases summed"
        log.depends_on(Failure(Stage.RUN, Symptom.TIMEOUT, "late"))
    found = log.outcome(Status.MISMATCH)
    assert (found.flags, found.numbers, found.placement) == (("own",), {"E": 0.5}, {"rounded_as": "as written"})
    assert not found.reusable, "the reason depends on that run"
