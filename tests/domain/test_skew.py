"""What is said of a case that is too new for a tool: whole in its row, and shorter on a page."""

from __future__ import annotations

import pytest

from bench_plugin.domain.texts.skew import FAILED, beside_converted, outside, shortened, taken

ASKED, TAKES = "opset 28, IR 14", "tvm takes opset 7 to 18, IR 8"


@pytest.mark.parametrize(
    ("status", "reason", "said", "page"),
    [
        ("", "cannot be converted: no", "cannot be converted: no; it failed so: no kernel for axis 1",
         "cannot be converted: no"),
        ("supported", "", "at opset 18, IR 8 it is supported; as it is it failed so: no kernel for axis 1",
         "at opset 18, IR 8 it is supported"),
        ("unsupported", "no kernel for axis 2",
         "at opset 18, IR 8 it fails in the same words, so that its version is not the cause: no kernel for axis 1",
         "at opset 18, IR 8, too: no kernel for axis 1"),
        ("mismatch", "no kernel for axis 2",
         "at opset 18, IR 8 it ends otherwise (mismatch); as it is it failed so: no kernel for axis 1",
         "at opset 18, IR 8 it ends otherwise (mismatch)"),
        ("ERROR", "no file",
         "at opset 18, IR 8 it ends otherwise (ERROR); as it is it failed so: no kernel for axis 1",
         "at opset 18, IR 8 it ends otherwise (ERROR)"),
    ],
)  # fmt: skip
def test_a_case_that_is_too_new_says_whether_its_version_is_the_cause(
    status: str, reason: str, said: str, page: str
) -> None:
    converted = {"status": status, "reason": reason, "opset": 18, "ir": 8}
    assert beside_converted("no kernel for axis 1", converted) == said
    row = f"{outside(ASKED, 'tvm', 'opset 7 to 18, IR 8')}; {said}"
    assert row.startswith(f"{ASKED}; {TAKES}; ") and taken(row) == TAKES
    assert shortened(row) == f"{ASKED}; {page}"


def test_how_a_case_failed_stays_where_nothing_else_is_known() -> None:
    row = f"{outside('opset 6', 'tvm', 'opset 7 and later')}; {FAILED}no Add(6); at axis 1"
    assert shortened(row) == "opset 6; it failed so: no Add(6); at axis 1"
    assert shortened(outside(ASKED, "tvm", "opset 7 and later")) == ASKED


@pytest.mark.parametrize("reason", ["", "opset 28", "changed in place; it failed so: no", "a; it takes long; b"])
def test_other_reasons_stay_as_they_are(reason: str) -> None:
    assert (taken(reason), shortened(reason)) == ("", reason)
