"""Changes of single rows in files that people write: comments, order and all other rows stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom
from bench_plugin.results.known_failures.expectations import Expectation, Expectations
from bench_plugin.results.known_failures.row_toml import drop, rewrite, sign, toml_value
from bench_plugin.results.signature import Signature

TEXT = """# why this file exists

[[expectation]]
check = "export"  # one check
model = [
    "a",  # the first
    "b",
]
stage = "export"
# the symptom
symptom = "exception"
reason = "it is known"
link = "https://x.org"

# of the second
[[expectation]]
check = "export"
model = "c"
symptom = "mismatch"   # aligned
needed = 2.0
stage = "compare"
reason = "known too"
"""
FAILED = Outcome(Status.ERROR, Stage.RUN, Symptom.CRASH, "the agent was killed by SIGBUS in stage run")


@pytest.fixture
def rows(tmp_path: Path) -> tuple[Expectation, ...]:
    (tmp_path / "known.toml").write_text(TEXT)
    return Expectations.load([tmp_path]).rows


def text_of(rows: tuple[Expectation, ...]) -> str:
    Expectations.load([rows[0].path.parent])  # still valid
    return rows[0].path.read_text()


def test_a_signature_is_one_line_behind_the_symptom(rows: tuple[Expectation, ...]) -> None:
    sign(rows[0], Signature('no "Foo"'))
    line = 'symptom = "exception"\n'
    assert text_of(rows) == TEXT.replace(line, line + 'signature = "no \\"Foo\\""\n')


def test_a_band_takes_the_place_of_an_older_one(rows: tuple[Expectation, ...]) -> None:
    sign(rows[1], Signature(needed=1234.5))
    assert text_of(rows) == TEXT.replace("needed = 2.0", "needed = 1230")


def test_another_failure_takes_stage_symptom_signature_and_reason_and_drops_the_link(
    rows: tuple[Expectation, ...],
) -> None:
    rewrite(rows[0], FAILED)
    wanted = TEXT.replace('stage = "export"\n', 'stage = "run"\n').replace('link = "https://x.org"\n', "")
    wanted = wanted.replace('"exception"\n', '"crash"\nsignature = "SIGBUS, no frame was found"\n')
    assert text_of(rows) == wanted.replace('"it is known"', '"not analysed"')


def test_rows_are_dropped_with_what_belongs_to_them(rows: tuple[Expectation, ...]) -> None:
    drop(rows[1])
    first, _, _ = TEXT.partition("\n# of the second")
    assert text_of(rows) == first
    drop(rows[0])
    assert rows[0].path.read_text() == "# why this file exists\n"


def test_a_comment_above_a_row_is_not_of_the_row_before(rows: tuple[Expectation, ...]) -> None:
    drop(rows[0])
    assert rows[0].path.read_text() == "# why this file exists\n\n" + TEXT[TEXT.index("# of the second") :]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace('reason = "it is known"', 'reason = """\nlink = of several\nlines"""'),
        TEXT.replace("[[expectation]]", "[[ expectation ]]"),
    ],
)
def test_a_row_that_cannot_be_changed_line_by_line_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    row = Expectations.load([tmp_path]).rows[0]
    with pytest.raises(UsageError, match=r"row 1 .*by hand"):
        rewrite(row, replace(FAILED, reason="x"))
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.5, "12.5"), (1234.5, "1230"), (1.2345e7, "1.23e+07"), (7, "7"), ("a\nb\x07", '"a b\\U00000007"')],
)
def test_values(value: object, text: str) -> None:
    assert toml_value(value) == text
