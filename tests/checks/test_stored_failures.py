"""A failure of an operator case that comes from the cache is the one that was stored."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from bench_plugin.checks.operators.stored_runs import _failure
from bench_plugin.domain.outcome import Cause, Failure, Stage, Symptom


@pytest.mark.parametrize("cause", Cause)
def test_a_stored_failure_keeps_its_stage_symptom_and_cause(cause: Cause) -> None:
    failure = Failure(Stage.COMPILE, Symptom.EXCEPTION, "it broke", cause=cause, types=("KeyError", "LookupError"))
    found = _failure(json.loads(json.dumps(asdict(failure))))
    assert found is not None and found == failure
    # An equal text is not enough: what is no failure of the tool is told apart by "is".
    assert (found.stage is failure.stage, found.symptom is failure.symptom, found.cause is cause) == (True,) * 3


def test_no_failure_is_none() -> None:
    assert _failure(None) is None
