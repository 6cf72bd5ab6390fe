"""How pages and the terminal show what verdicts would notice, and why cells are unverified."""

from __future__ import annotations

from typing import Any

from bench_plugin.report.formats import markdown
from bench_plugin.report.pages.registry import build_pages
from bench_plugin.report.summary import unverified_kinds
from tests.report.made import equivalence, export, header, imported


def strong(noticed: int, applicable: int, **more: Any) -> dict[str, Any]:
    """The numbers of a cell, and the flag of a weak one."""
    table = {f"m{i}": {"killed": i < noticed, "ratio": 2.0 * (i < noticed), "kind": "layer"} for i in range(applicable)}
    missed = [name for name, row in table.items() if not row["killed"]]
    numbers = {
        "mutants": table | {"tiny": {"killed": False, "ratio": 0.0}}, "mutants_applicable": applicable,
        "mutants_missed": missed, "mutants_not_noticeable": ["tiny"], "strength": noticed / applicable,
    }  # fmt: skip
    weak = [f"weak: {noticed} of {applicable} mutants noticed, {', '.join(missed)} would pass"]
    return {"numbers": numbers, "flags": weak if noticed / applicable < 0.8 else [], **more}


def test_the_table_of_mutants_counts_those_that_apply_and_the_weak_cells() -> None:
    blind = strong(2, 5, unverified="not sensitive") | {"flags": []}
    rows = [
        equivalence("fp32", **strong(10, 10)), equivalence("bf16", **strong(6, 10)),
        equivalence("bf16", "iree", **strong(9, 10)), equivalence("w8a8", status="unverified", **blind),
    ]  # fmt: skip
    [page] = build_pages([header(), *rows])
    text = markdown.render(page.document)
    assert "| model | fp32 | bf16 | w8a8 |" in text
    assert "| LSTM | 100% (10 of 10) | 75% (15 of 20), 1 weak | 40% (2 of 5), 1 not sensitive |" in text


def test_rows_of_an_older_version_are_counted_by_their_mutants() -> None:
    old = {"mutants": {"a": {"killed": True, "ratio": 9.0}, "b": {"killed": False, "ratio": 0.1}}}
    [page] = build_pages([header(), equivalence("fp32", numbers=old)])
    assert "| LSTM | 50% (1 of 2) |" in markdown.render(page.document)


def test_the_page_of_round_trips_counts_kinds_of_unverified_cells() -> None:
    rows = [export(status="unverified", unverified="not sensitive", reason="not sensitive: this comparison")]
    rows += [imported(status="unverified", unverified="blocked", reason="export failed: crash at export: gone")]
    rows += [imported(importer="other", **strong(3, 4))]
    [page] = build_pages([header(), *rows])
    text = markdown.render(page.document)
    assert "| check | blocked | not sensitive |" in text
    assert "| export |  | 1 |" in text and "| import | 1 |  |" in text
    assert "| 3 of 4 | m3: 0 tolerances off | m3, tiny |" in text


def test_the_terminal_counts_kinds_and_weak_verdicts() -> None:
    rows = [equivalence("fp32", **strong(10, 10)), equivalence("bf16", **strong(6, 10))]
    assert unverified_kinds(build_pages([header(), rows[0]])) == ""
    rows += [equivalence("w8a8", status="unverified", unverified="no reference")]
    rows += [
        export(status="unverified", unverified="ill-conditioned"),
        imported(status="unverified", unverified="blocked"),
    ]
    rows += [export("vgg16", status="unverified", unverified="ill-conditioned")]
    text = unverified_kinds(build_pages([header(), *rows]))
    assert text.startswith("unverified: 1 blocked, 1 no reference, 2 ill-conditioned; weak (") and text.endswith("): 1")
    assert unverified_kinds(build_pages([header(), export(status="unverified")])) == "unverified: 1 of an older version"
