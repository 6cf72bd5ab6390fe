"""Pages as pure functions of rows: which there are, what each of them says, and which files stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.report.formats import html, markdown, restructured
from bench_plugin.report.pages.registry import NAMES, build_pages, drop_stale
from tests.report.made import Row, equivalence, export, generated, header, imported, plan

ROWS: dict[str, Row] = {
    "onnx-support": export(),
    "equivalence": equivalence(),
    "onnx-operators": {**generated("test_relu", "iree"), "check": "operator"}
    | {"cell": {"check": "operator", "model": "test_relu", "framework": "onnx", "compiler": "iree"}},
    "onnx-properties": generated("Relu", "iree"),
    "other-checks": {**export(), "cell": {"check": "timing", "model": "lstm", "framework": "pytorch"}},
}


def text_of(*rows: Row) -> str:
    [page] = build_pages([header(), plan(len(rows), len(rows)), *rows])
    return markdown.render(page.document)


def test_every_page_has_a_row_here() -> None:
    assert tuple(ROWS) == NAMES


@pytest.mark.parametrize("name", ROWS)
def test_a_kind_of_cell_has_its_page_and_no_other(name: str) -> None:
    assert [page.name for page in build_pages([header(), ROWS[name]])] == [name]


def test_a_run_of_everything_has_every_page() -> None:
    assert tuple(page.name for page in build_pages([header(), *ROWS.values()])) == NAMES


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("module", [markdown, restructured, html])
def test_a_page_says_when_where_from_what_and_with_what_it_was_made(name: str, module: object) -> None:
    [page] = build_pages([header(), ROWS[name]])
    text = module.render(page.document)  # type: ignore[attr-defined]
    for said in ("20261121-204952-1a2b3c", "2026-11-21 20:49:52 UTC", "abc123", "Some CPU", "pytest suites", "3.11.7"):
        assert said in text
    assert "iree-base 3.11" in text


def test_a_file_without_a_header_gives_a_page_that_says_so() -> None:
    [page] = build_pages([export()])
    assert "The results file has no header." in markdown.render(page.document)


def test_pages_say_how_the_models_were_made() -> None:
    seeded, trained = export(), export("vgg16", numbers={"training": {"epochs": 3}})
    assert "Weights are not trained" in text_of(seeded)
    assert "int8" not in text_of(seeded)
    reduced = text_of(equivalence("w8a8"))
    assert "rows of int8" in reduced and "rows of bf16" in reduced
    assert "Trained on their dataset" not in text_of(seeded)
    assert "Weights are not trained" not in text_of(trained)
    assert "quantisation costs: VGG16 (pytorch)." in text_of(seeded, trained)
    file = equivalence()
    file["cell"] |= {"framework": "onnx", "model": "mine"}
    assert "the weights that they hold: mine." in text_of(file)


def test_the_support_page_states_the_rule_of_joining() -> None:
    assert "the worst export and the worst import of all that were computed" in text_of(export(), imported())


def test_a_known_failure_is_listed_with_its_cause_and_key() -> None:
    row = export(status="ERROR", result="xfailed", stage="export", symptom="crash", expected={"reason": "bug 17"})
    assert f"| export: crash |  | bug 17 | {row['key']} |" in text_of(row)


def test_a_cell_that_made_progress_is_listed_with_what_is_not_supported() -> None:
    row = export(result="failed", expected={"reason": "bug 17"})
    text = text_of(row)
    assert f"|  | {row['key']} |" in text and "bug 17" not in text, "the cause is none of this cell"
    assert "| ! | a known failure passed" in text


@pytest.mark.parametrize("result", ["failed", "skipped", "passed", None])
def test_a_cause_is_shown_only_where_its_row_was_matched(result: str | None) -> None:
    failed = {"status": "ERROR", "stage": "export", "symptom": "exception", "reason": "no rule for Foo"}
    known = {"expected": {"reason": "bug 17"}}
    other = export(**failed, **known) if result is None else export(**failed, **known, result=result)
    assert ("bug 17" in text_of(other)) is (result is None), "rows of the first version have no result"
    assert "bug 17" in text_of(export(**failed, **known, result="xfailed"))


def test_no_page_uses_words_of_the_workshop() -> None:
    rows = [
        *ROWS.values(),
        imported(status="mismatch"),
        equivalence("w8a8", numbers={"mutants": {"a": {"killed": True}}}),
    ]
    for page in build_pages([header(), *rows]):
        text = markdown.render(page.document).lower()
        for word in ("ready graph", "the truth", "killed", "drawn graph", "survive", "handed"):
            assert word not in text, f"{page.name}: {word}"


def written(folder: Path, run: str, *names: str) -> None:
    for page in build_pages([header(run=run), *(ROWS[name] for name in names)]):
        page.write(folder)


def test_pages_of_an_earlier_run_do_not_look_current(tmp_path: Path) -> None:
    written(tmp_path, "run-1", "onnx-support", "onnx-properties")
    (tmp_path / "equivalence.md").write_text("published by hand")
    (tmp_path / "onnx-operators.json").write_text("{}")
    (tmp_path / "notes.md").write_text("mine")
    pages = build_pages([header(run="run-2"), ROWS["onnx-support"]])
    assert drop_stale(tmp_path, pages, "run-2") == (["onnx-properties"], ["equivalence", "onnx-operators"])
    kept = {path.name for path in tmp_path.iterdir()}
    assert not any(name.startswith("onnx-properties") for name in kept)
    assert {"equivalence.md", "notes.md", "onnx-support.md"} <= kept


def test_pages_of_the_same_run_stay(tmp_path: Path) -> None:
    written(tmp_path, "run-1", "onnx-properties")
    pages = build_pages([header(run="run-1"), ROWS["onnx-support"]])
    assert drop_stale(tmp_path, pages, "run-1") == ([], ["onnx-properties"])
