"""Signatures of failures: text, signal and frame, or how far off a mismatch is, and when two of them are the same."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bench_plugin.domain.outcome import STATUS_OF_SYMPTOM, Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.signature import Signature, difference, distinct, signature_of, top_frame

KILLED = "the agent was killed by SIGSEGV in stage run"
REPORT = """the agent was killed by SIGSEGV in stage run
MNN use high precision
Fatal Python error: Segmentation fault

Thread 0x00007f850b008b81 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Current thread 0x00007f850b008b80 (most recent call first):
  File "{top}", line 97 in infer
  File "/scratch/agent.pyz/bench_plugin/agent/server.py", line 244 in _raising
"""


def failed(symptom: Symptom, reason: str = "", detail: str = "", **numbers: Any) -> Outcome:
    return Outcome(STATUS_OF_SYMPTOM[symptom], Stage.RUN, symptom, reason, detail, numbers=numbers)


@pytest.mark.parametrize("symptom", [Symptom.EXCEPTION, Symptom.UNSUPPORTED, Symptom.INVALID_MODEL, Symptom.HARNESS])
def test_what_a_tool_says_is_the_signature(symptom: Symptom) -> None:
    assert signature_of(failed(symptom, "no rule for 'Erf' in node_3\nmore")) == Signature(
        "no rule for 'Erf' in node_#"
    )


@pytest.mark.parametrize("symptom", [Symptom.TIMEOUT, Symptom.OUT_OF_MEMORY, Symptom.NONDETERMINISTIC])
def test_what_differs_each_time_has_none(symptom: Symptom) -> None:
    assert not signature_of(failed(symptom, "stage run took longer than 60 s", needed=3.0))


@pytest.mark.parametrize(
    "outcome", [Outcome(Status.SUPPORTED), Outcome(Status.UNVERIFIED, unverified=Unverified.BLOCKED, reason="x")]
)
def test_what_did_not_fail_has_none(outcome: Outcome) -> None:
    assert not signature_of(outcome)


@pytest.mark.parametrize(
    ("top", "frame"),
    [
        ("/env/lib/python3.11/site-packages/MNN/expr.py", "MNN/expr.py infer"),
        (f"/scratch/store/{'0f' * 32}-mnn.py", "mnn.py infer"),
        ("/env/lib/python3.12/ctypes/__init__.py", "ctypes/__init__.py infer"),
        ("/scratch/agent.pyz/bench_plugin/agent/server.py", "bench_plugin/agent/server.py infer"),
    ],
)
def test_a_crash_is_the_signal_and_the_frame_of_its_own_thread(top: str, frame: str) -> None:
    assert signature_of(failed(Symptom.CRASH, KILLED, REPORT.format(top=top))).text == f"SIGSEGV in {frame}"


def test_a_native_frame_comes_before_a_python_frame() -> None:
    native = "#0 0x00007f1 llvm::sys::PrintStackTrace(x)\n #1 0x00007f2 mlir::Fold::run(a)\n" + REPORT.format(
        top="/a/b.py"
    )
    assert top_frame(native) == "mlir::Fold::run"


def test_a_thread_without_python_has_no_frame() -> None:
    text = 'Current thread 0x1 (most recent call first):\n  <no Python frame>\nThread 0x2:\n  File "/a.py", line 1 in f'
    assert top_frame(text) == ""


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (KILLED, "SIGSEGV, no frame was found"),
        ("the agent ended with exit code 7 in stage run", "exit code 7, no frame was found"),
        (
            "pnnx was killed by SIGSEGV: ort Run failed at node_3",
            "pnnx was killed by SIGSEGV: ort Run failed at node_#",
        ),
    ],
)
def test_a_crash_without_a_frame_says_so_or_what_the_process_said(reason: str, text: str) -> None:
    assert signature_of(failed(Symptom.CRASH, reason, reason)).text == text


@pytest.mark.parametrize(
    ("numbers", "needed"),
    [
        ({"needed": 12.5}, 12.5),
        ({"ratio": 7.123456}, 7.12),
        ({"needed": 2.0, "outputs": [{"status": "mismatch", "needed": 2.0}, {"status": "mismatch", "needed": 50}]}, 50),
        ({"needed": 9.0, "outputs": [{"status": "agree", "needed": 9.0}, {"status": "mismatch", "needed": 4.0}]}, 4),
        ({"needed": 2.0, "outputs": [{"status": "mismatch", "needed": 2.0}, {"status": "mismatch"}]}, None),
        ({"ratio": math.inf}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_a_measured_mismatch_is_how_many_tolerances_it_is_off(numbers: dict[str, Any], needed: float | None) -> None:
    found = signature_of(failed(Symptom.MISMATCH, "output 0: out of 4 ULP: 2 of 9 elements, at [1] 2 for 3", **numbers))
    assert found == (Signature(needed=needed) if needed else Signature("out of # ULP"))


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("output 0: shape [3, 2], expected [1, 1]", "shape [#], expected [#]"),
        ("shape [3, 2], expected [1, 1]", "shape [#], expected [#]"),
        ("output 12: type float32, expected float8_e4m3fn", "type float32, expected float8_e4m3fn"),
        ("out0: 8 of 25 elements differ; out1: 3 of 4 elements differ", "elements differ"),
        ("output 0: 1 of 25 elements differ, at [0, 1] 5.0 for 0.0", "elements differ"),
        ("output 3: NaN in other places: 84 of 432 elements, at [0] nan for 1", "NaN in other places"),
        ("output 3: Inf in other places: 84 of 432 elements, at [0] 3e38 for inf", "Inf in other places"),
        ("2 outputs, expected 1", "# outputs, expected #"),
        ("output 1: nothing, expected a tensor of int64", "nothing, expected a tensor of int64"),
        ("layer conv1: 1.2% of 90 elements off by more than a step, up to 3",
         "layer conv1: #% of # elements off by more than a step, up to #"),
        ("out0: NaN in\nother places; out1: 2 of 3", "NaN in"),
        ("8 of 25\nelements differ\nas follows", "elements differ"),
        ("out1: off: 1 of 2 elements, at [0] 1\nand more", "off"),
        ("top-1 fell by 3.1% (at least 1.2%, McNemar p 1e-05)", "top-1 fell by #% (at least #%, McNemar p #)"),
    ],
)  # fmt: skip
def test_other_mismatches_are_their_kind(reason: str, kind: str) -> None:
    assert difference(reason) == kind


@pytest.mark.parametrize(
    ("known", "found", "same"),
    [
        (Signature("a"), Signature("a"), True),
        (Signature("a"), Signature("b"), False),
        (Signature("a ..."), Signature("a b"), True),
        (Signature("a"), Signature(), False),
        (Signature("a"), Signature(needed=1.0), False),
        (Signature(), Signature("a"), True),
        (Signature(), Signature(needed=1e9), True),
        (Signature(needed=2.0), Signature(needed=6.0), True),
        (Signature(needed=2.0), Signature(needed=6.01), False),
        (Signature(needed=2.0), Signature(needed=0.1), True),
        (Signature(needed=2.0), Signature("elements differ"), False),
        (Signature(needed=2.0), Signature(), False),
    ],
)
def test_which_failures_a_signature_covers(known: Signature, found: Signature, same: bool) -> None:
    assert known.covers(found) is same


def test_a_signature_in_words() -> None:
    assert [str(one) for one in (Signature("a b"), Signature(needed=1234.5), Signature())] == [
        "'a b'", "needed = 1230", "no signature"
    ]  # fmt: skip


def test_names_of_one_model_are_no_part_of_the_signature_of_any_failure() -> None:
    names = {"conv1", "w"}
    mismatch = failed(Symptom.MISMATCH, "layer conv1: nothing for 'w'")
    assert signature_of(mismatch, names).text == "layer NAME: nothing for 'NAME'"
    assert signature_of(failed(Symptom.EXCEPTION, "no 'w' in conv1"), names).text == "no 'NAME' in NAME"


def test_a_crash_that_names_no_signal_is_what_it_says() -> None:
    assert signature_of(failed(Symptom.CRASH, "the agent is gone", REPORT.format(top="/a/b.py"))).text == (
        "the agent is gone"
    )
    assert top_frame("Current thread 0x1 (most recent call first):") == ""


def test_different_failures() -> None:
    given = [Signature("a"), Signature(needed=9.0), Signature(), Signature("b"), Signature("a")]
    given += [Signature(needed=value) for value in (3.0, 1.0, 3.1, 30.0)]
    assert distinct(given) == [
        Signature("a"), Signature("b"), Signature(needed=3.0), Signature(needed=9.0), Signature(needed=30.0)
    ]  # fmt: skip
    assert distinct([Signature()]) == []
