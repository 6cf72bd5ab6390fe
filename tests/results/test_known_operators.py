"""Files of known failures of operator cases: what an update keeps, adds, changes and drops, and how it groups cases."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom, Unverified
from bench_plugin.results.known_failures.expectations import NOT_ANALYSED, Expectations
from bench_plugin.results.known_failures.known_operators import Known, Updated, updated, write

NOW = "tool==2.0"
REFUSED = Outcome(
    Status.UNSUPPORTED, Stage.COMPILE, Symptom.UNSUPPORTED, "no rule for Foo", versions={"tool": "2.0"}
)  # fmt: skip
WRONG = Outcome(
    Status.MISMATCH, Stage.COMPARE, Symptom.MISMATCH, "output 0: out of 4 ULP: 1 of 2 elements, at [0] 1 for 2",
    numbers={"ratio": 10.0}, versions={"tool": "2.0"},
)  # fmt: skip
PASSED = Outcome(Status.SUPPORTED, versions={"tool": "2.0"})
ANALYSED = Known("compile", "unsupported", "no rule for Foo", "Foo is new in opset 99", "https://x.org/1", NOW)
ROUNDS = Known("compare", "mismatch", "", "it rounds down", "https://x.org/2", NOW, 10.0)


def written(folder: Path, **known: Known) -> list[dict[str, Any]]:
    """The rows of the file for these known failures, without the keys that all have."""
    found = tomllib.loads(write(folder, "tool", known).read_text())["expectation"]
    return [{key: value for key, value in row.items() if key not in ("check", "compiler")} for row in found]


def after(folder: Path, known: dict[str, Known], **results: Outcome) -> Updated:
    """What an update of a file with these known failures gives."""
    if known:
        write(folder, "tool", known)
    return updated(Expectations.load([folder]).operators, "tool", NOW, results.items())


def test_a_new_failure_is_not_analysed_and_its_message_is_the_signature(tmp_path: Path) -> None:
    found = after(tmp_path, {}, test_foo=REFUSED, test_bar=WRONG, test_ok=PASSED)
    assert found.known == {
        "test_foo": Known("compile", "unsupported", "no rule for Foo", NOT_ANALYSED, "", NOW),
        "test_bar": Known("compare", "mismatch", "", NOT_ANALYSED, "", NOW, 10.0),
    }
    assert (found.added, found.changed, found.signed, found.not_analysed) == (2, 0, 0, 2)


@pytest.mark.parametrize(
    ("before", "outcome", "kept"),
    [
        (ANALYSED, REFUSED, ANALYSED),
        (replace(ANALYSED, text=""), REFUSED, ANALYSED),
        (replace(ANALYSED, text="no rule for ..."), REFUSED, replace(ANALYSED, text="no rule for ...")),
        (replace(ANALYSED, when="tool==1.0"), REFUSED, ANALYSED),
        (replace(ANALYSED, when="tool>=1.0"), REFUSED, replace(ANALYSED, when="tool>=1.0")),
        (ROUNDS, WRONG, ROUNDS),
        (replace(ROUNDS, needed=0.0), WRONG, ROUNDS),
        (replace(ROUNDS, needed=4.0), WRONG, replace(ROUNDS, needed=4.0)),
        (replace(ROUNDS, needed=500.0), WRONG, ROUNDS),
    ],
    ids=["same", "unsigned", "dots", "older version", "version range", "band", "no band", "not widened", "tightened"],
)
def test_reason_and_link_of_a_failure_that_did_not_change_stay(
    tmp_path: Path, before: Known, outcome: Outcome, kept: Known
) -> None:
    found = after(tmp_path, {"test_foo": before}, test_foo=outcome)
    assert found.known == {"test_foo": kept}
    assert (found.added, found.changed, found.signed) == (0, 0, int(before != kept))


@pytest.mark.parametrize(
    ("before", "outcome"),
    [
        (ANALYSED, replace(REFUSED, reason="no rule for Bar")),
        (ANALYSED, replace(REFUSED, stage=Stage.RUN)),
        (ANALYSED, replace(REFUSED, status=Status.ERROR, symptom=Symptom.EXCEPTION)),
        (replace(ROUNDS, needed=3.3), WRONG),
        (ROUNDS, replace(WRONG, reason="output 0: shape [1], expected [2]", numbers={})),
    ],
    ids=["message", "stage", "symptom", "worse", "shape"],
)
def test_a_failure_that_changed_is_not_analysed_again(tmp_path: Path, before: Known, outcome: Outcome) -> None:
    found = after(tmp_path, {"test_foo": before}, test_foo=outcome)
    (known,) = found.known.values()
    assert (known.reason, known.link, found.changed) == (NOT_ANALYSED, "", 1)
    assert (known.stage, known.symptom) == (outcome.stage, outcome.symptom)
    assert outcome.reason.partition(":")[0] in known.text or known.needed == 10.0 or known.text.startswith("shape")


SLOW = Known("compile", "timeout", "", "it tries every order, which a slow processor does not do in time", "", NOW)
TIMED_OUT = Outcome(Status.ERROR, Stage.COMPILE, Symptom.TIMEOUT, "no answer after 90 s", versions={"tool": "2.0"})


@pytest.mark.parametrize(("outcome", "stay"), [
    (REFUSED, [ANALYSED, SLOW]), (TIMED_OUT, [ANALYSED, SLOW]), (WRONG, [Known("compare", "mismatch", "", NOT_ANALYSED,
     "", NOW, 10.0)]), (PASSED, []), (None, [ANALYSED, SLOW]),
])  # fmt: skip
def test_a_case_that_fails_in_two_ways_keeps_both_rows_where_it_fails_in_one_of_them(
    tmp_path: Path, outcome: Outcome | None, stay: list[Known]
) -> None:
    write(tmp_path, "tool", {"test_foo": ANALYSED}, {"test_foo": [SLOW]})
    run = {"test_foo": outcome} if outcome else {"test_bar": PASSED}
    found = updated(Expectations.load([tmp_path]).operators, "tool", NOW, run.items())
    write(tmp_path, "tool", found.known, found.others)
    rows = Expectations.load([tmp_path]).operators.of("tool").get("test_foo", [])
    assert sorted(row.reason for row in rows) == sorted(one.reason for one in stay)
    assert found.signed == 0


def test_cases_that_need_no_row_any_more_are_dropped_and_counted_by_status(tmp_path: Path) -> None:
    gone = {
        "test_a": PASSED, "test_b": PASSED, "test_c": replace(PASSED, status=Status.VERSION_SKEW),
        "test_d": replace(PASSED, status=Status.OUTSIDE_BOUND),
    }  # fmt: skip
    silent = replace(PASSED, status=Status.UNVERIFIED, unverified=Unverified.HARNESS)
    known = dict.fromkeys([*gone, "test_silent", "test_not_run"], ANALYSED)
    found = after(tmp_path, known, **gone, test_silent=silent)
    assert sorted(found.known) == ["test_not_run", "test_silent"]
    assert found.dropped == {"supported": 2, "version skew": 1, "outside our bound": 1}


def test_cases_of_one_failure_reason_and_link_are_one_row(tmp_path: Path) -> None:
    other = replace(ANALYSED, link="")
    rows = written(tmp_path, test_b=ANALYSED, test_a=ANALYSED, test_c=other, test_d=replace(ANALYSED, text="b"))
    assert [row["model"] for row in rows] == [["test_a", "test_b"], ["test_d"], ["test_c"]] or [
        row["model"] for row in rows
    ] == [["test_a", "test_b"], ["test_c"], ["test_d"]]
    assert rows[0] == {
        "stage": "compile", "symptom": "unsupported", "reason": "Foo is new in opset 99", "link": "https://x.org/1",
        "signature": "no rule for Foo", "when": "tool==2.0", "model": ["test_a", "test_b"],
    }  # fmt: skip


def test_a_row_of_mismatches_records_the_largest_and_none_is_beyond_the_band_of_the_mildest(tmp_path: Path) -> None:
    cases = {f"test_{place}": replace(ROUNDS, needed=needed) for place, needed in enumerate((2.0, 90.0, 6.0, 6.1, 1.5))}
    rows = written(tmp_path, **cases)
    assert {tuple(row["model"]): row["needed"] for row in rows} == {
        ("test_0", "test_4"): 2.0, ("test_2", "test_3"): 6.1, ("test_1",): 90.0
    }  # fmt: skip
    assert all("signature" not in row for row in rows)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    hard = replace(ANALYSED, text='it said "a\\b" of \u2264 #\u007f', when="tool<3, other>=1")
    known = {"test_a": hard, "test_b": ROUNDS, "test_c": replace(ANALYSED, symptom="timeout", text="")}
    assert after(tmp_path, known).known == known
