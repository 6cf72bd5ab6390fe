"""The text of a file of known operator failures, compared as a whole, and the counts of an update of several cases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.results.known_failures.expectations import Expectations
from bench_plugin.results.known_failures.known_operators import Known, pinned, updated, write

NOW = "tool==2.0"
REFUSED = Outcome(
    Status.UNSUPPORTED, Stage.COMPILE, Symptom.UNSUPPORTED, "no rule for Foo", versions={"tool": "2.0"}
)  # fmt: skip
ANALYSED = Known("compile", "unsupported", "no rule for Foo", "Foo is new in opset 99 ≤", "https://x.org/1", NOW)
TEXT = """\
# 16 of ONNX's tests that are known to fail in tool; written by: bench expect update
# A reason is in our words, and says "not analysed" where nobody has looked for the cause; what the tool says is the signature.

[[expectation]]
check = "operator"
compiler = "tool"
stage = "compile"
symptom = "unsupported"
reason = "Foo is new in opset 99 ≤"
signature = "no rule for Foo"
link = "https://x.org/1"
when = "tool==2.0"
model = [
    "test_with_a_long_name_00", "test_with_a_long_name_01", "test_with_a_long_name_02", "test_with_a_long_name_03xx",
    "test_with_a_long_name_04", "test_with_a_long_name_05", "test_with_a_long_name_06", "test_with_a_long_name_07xxx",
    "test_with_a_long_name_08",
]

[[expectation]]
check = "operator"
compiler = "tool"
stage = "compare"
symptom = "mismatch"
reason = "it rounds"
needed = 6
when = ["tool==2.0", "onnx<2"]
model = [
    "test_b", "test_c",
]

[[expectation]]
check = "operator"
compiler = "tool"
stage = "compare"
symptom = "mismatch"
reason = "it rounds"
needed = 90
when = ["tool==2.0", "onnx<2"]
model = [
    "test_d", "test_e",
]

[[expectation]]
check = "operator"
compiler = "tool"
stage = "compile"
symptom = "unsupported"
reason = "a reason"
signature = "no rule for Foo"
model = [
    "test_z",
]

[[expectation]]
check = "operator"
compiler = "tool"
stage = "run"
symptom = "timeout"
reason = "slow"
model = [
    "test_y",
]

[[expectation]]
check = "operator"
compiler = "tool"
stage = "run"
symptom = "timeout"
reason = "slow, too"
model = [
    "test_x",
]
"""  # noqa: E501


def test_the_whole_file_is_what_the_known_failures_say(tmp_path: Path) -> None:
    rounds = Known("compare", "mismatch", "", "it rounds", "", "tool==2.0, onnx<2", 2.0)
    slow = Known("run", "timeout", "", "slow", "", "")
    # The second line of names is exactly as wide as a line may be, the first one narrower by a character.
    names = [f"test_with_a_long_name_{number:02}{'x' * {3: 2, 7: 3}.get(number, 0)}" for number in range(9)]
    known = {
        "test_x": replace(slow, reason="slow, too"), "test_y": slow,
        "test_z": replace(ANALYSED, reason="a reason", link="", when=""),
        "test_c": rounds, "test_b": replace(rounds, needed=6.0),
        "test_d": replace(rounds, needed=90.0), "test_e": replace(rounds, needed=80.0),
        **dict.fromkeys(names, ANALYSED),
    }  # fmt: skip
    path = write(tmp_path / "a/b", "tool", known)
    assert path == tmp_path / "a/b/operators/tool.toml"
    assert path.read_bytes() == TEXT.encode()
    assert write(tmp_path / "a/b", "tool", known).read_bytes() == TEXT.encode(), "a file that is there is written anew"


def test_every_change_of_an_update_is_counted(tmp_path: Path) -> None:
    failed = dict.fromkeys(["test_a", "test_b"], REFUSED)
    write(tmp_path, "tool", dict.fromkeys(failed, replace(ANALYSED, text="")))
    found = updated(Expectations.load([tmp_path]).operators, "tool", NOW, failed.items())
    assert (found.added, found.changed, found.signed) == (0, 0, 2)
    write(tmp_path, "tool", dict.fromkeys(failed, replace(ANALYSED, text="no rule for Bar")))
    found = updated(Expectations.load([tmp_path]).operators, "tool", NOW, failed.items())
    assert (found.added, found.changed, found.signed) == (0, 2, 0)


def test_a_row_of_results_that_vary_stays_where_its_case_passed_or_was_wrong_alike_twice(tmp_path: Path) -> None:
    kept = Known("compare", "nondeterministic", "", "it reads memory that nobody wrote", "", NOW)
    write(
        tmp_path, "tool", dict.fromkeys(("test_passes", "test_wrong", "test_refused", "test_of_another_version"), kept)
    )
    right = Outcome(Status.SUPPORTED, None, None, "", versions={"tool": "2.0"})
    wrong = Outcome(
        Status.MISMATCH, Stage.COMPARE, Symptom.MISMATCH, "output 0: elements differ", versions=right.versions
    )
    run = {
        "test_passes": right, "test_wrong": wrong, "test_refused": REFUSED,
        "test_of_another_version": replace(right, versions={"tool": "3.0"}),
    }  # fmt: skip
    found = updated(Expectations.load([tmp_path]).operators, "tool", NOW, run.items())
    assert (found.known["test_passes"], found.known["test_wrong"]) == (kept, kept)
    assert found.known["test_refused"].symptom == "unsupported"
    assert "test_of_another_version" not in found.known
    assert (found.added, found.changed, found.signed, found.dropped) == (0, 1, 0, {"supported": 1})


def test_the_requirement_of_a_row_is_the_version_of_the_run() -> None:
    assert pinned("tool", {"tool": "2.0", "other": "1"}) == "tool==2.0"
    assert pinned("tool", {"other": "1"}) == ""
