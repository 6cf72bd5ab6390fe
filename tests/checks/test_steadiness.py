"""Two runs of a case: what is the same, what differs within the rule, and what is no verdict on any numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench_plugin.agent import packs
from bench_plugin.checks.operators.steadiness import compared, same_bits, sampled
from bench_plugin.checks.operators.stored_runs import CaseRun
from bench_plugin.compare.operators.bounds import Truth
from bench_plugin.compare.operators.rules import Rule, rule_of
from bench_plugin.compare.operators.values import Tensor, Value
from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.pipeline.tasks.corpus import CaseData

CRASH = Failure(Stage.RUN, Symptom.CRASH, "the agent was killed by SIGSEGV")


def ran(*outputs: Value, failure: Failure | None = None) -> CaseRun:
    return CaseRun(failure=failure, outputs=list(outputs), seconds={}, peak=0, meta={})


def tensor(*values: Any, dtype: str = "float32") -> Tensor:
    return Tensor(dtype, np.array(values, dtype=dtype if dtype != "str" else object))


def case(rule: Rule, *truths: Truth) -> CaseData:
    return CaseData("test_it", {}, packs.Reader(b""), rule, truths, "")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([tensor(1.0)], [tensor(1.0)], True), ([tensor(np.nan)], [tensor(np.nan)], True),
        ([tensor(0.0)], [tensor(-0.0)], False), ([tensor(1.0)], [tensor(1.0), tensor(1.0)], False),
        ([tensor(1.0)], [tensor(1.0, dtype="float64")], False), ([tensor(1.0)], [tensor([1.0])], False),
        ([tensor("a", dtype="str")], [tensor("a", dtype="str")], True),
        ([tensor("a", dtype="str")], [tensor("b", dtype="str")], False),
        ([[tensor(1.0), tensor(2.0)]], [[tensor(1.0), tensor(2.0)]], True),
        ([[tensor(1.0), tensor(2.0)]], [[tensor(1.0)]], False), ([None], [None], True), ([None], [tensor(1.0)], False),
    ],
)  # fmt: skip
def test_bits(one: list[Value], other: list[Value], same: bool) -> None:
    assert same_bits(ran(*one), ran(*other)) is same


def test_failures_are_the_same_by_their_signature() -> None:
    assert same_bits(ran(failure=CRASH), ran(failure=CRASH))
    assert not same_bits(ran(failure=CRASH), ran(tensor(1.0)))
    assert not same_bits(ran(failure=CRASH), ran(failure=Failure(Stage.RUN, Symptom.TIMEOUT, "it took long")))


def test_a_difference_within_the_rule_is_noted_and_decides_nothing() -> None:
    data = case(rule_of(["Exp"], 1, 1), Truth(np.array([5.0])))
    found = compared(data, ran(tensor(1.0)), ran(tensor(np.nextafter(np.float32(1), np.float32(2)))), loose=False)
    assert (found.deterministic, found.unsteady) == (False, "")
    assert found.outputs[0] == tensor(1.0), "the first counts"


def test_a_difference_beyond_the_rule_has_both_numbers() -> None:
    data = case(rule_of(["Exp"], 1, 1), Truth(np.array([5.0])))
    found = compared(data, ran(tensor(1.0)), ran(tensor(1.5)), loose=False)
    assert found.deterministic is False
    assert found.unsteady.startswith("two fresh processes gave two results: ") and "1.5 for 1" in found.unsteady


def test_the_bound_of_the_case_is_that_of_two_runs() -> None:
    data = case(rule_of(["ReduceMean"], 1, 1), Truth(np.array([1.0]), np.array([100.0]), terms=10000))
    within = compared(data, ran(tensor(1.0)), ran(tensor(1.001)), loose=False)
    beyond = compared(data, ran(tensor(1.0)), ran(tensor(1.002)), loose=False)
    assert not within.unsteady and beyond.unsteady


def test_a_second_process_that_fails_is_a_difference() -> None:
    data = case(rule_of(["Exp"], 1, 1))
    assert "a result and crash" in compared(data, ran(tensor(1.0)), ran(failure=CRASH), loose=False).unsteady
    assert compared(data, ran(failure=CRASH), ran(tensor(1.0)), loose=False).unsteady == ""


def test_what_is_random_may_differ() -> None:
    found = compared(case(Rule("random")), ran(tensor(1.0)), ran(tensor(2.0)), loose=False)
    assert (found.deterministic, found.unsteady) == (None, "")


def test_the_sample_is_a_twentieth_and_everything_in_the_profile_full() -> None:
    names = [f"test_{number}" for number in range(4000)]
    assert all(sampled(name, "full") for name in names)
    chosen = [name for name in names if sampled(name, "quick")]
    assert 150 < len(chosen) < 250 and chosen == [name for name in names if sampled(name, "published")]
