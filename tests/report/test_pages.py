"""Pages as pure functions of rows: which there are, what each of them says, and which files stay."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.report.blocks import Document, Paragraph, anchor
from bench_plugin.report.earlier import beside
from bench_plugin.report.formats import html, markdown, restructured
from bench_plugin.report.pages.registry import NAMES, build_pages, drop_stale
from tests.report.made import TITLES, Row, cell, equivalence, export, generated, header, imported, plan

ROWS: dict[str, Row] = {
    "onnx-support": export(),
    "equivalence": equivalence(),
    "onnx-operators": {**generated("test_relu", "iree"), "check": "operator"}
    | {"cell": {"check": "operator", "model": "test_relu", "framework": "onnx", "compiler": "iree"}},
    "onnx-properties": generated("Relu", "iree"),
    "timing": {**equivalence(check="timing"), "numbers": {}},
    "layers": {**equivalence(check="layers"), "numbers": {}},
    "other-checks": {**export(), "cell": {"check": "weighing", "model": "lstm", "framework": "pytorch"}},
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


@pytest.mark.parametrize(
    ("module", "linked"),
    [(markdown, "- [ONNX Runtime 1.31](equivalence-onnxruntime.md)"),
     (restructured, "* :doc:`ONNX Runtime 1.31 <equivalence-onnxruntime>`"),
     (html, '<li><a href="equivalence-onnxruntime.html">ONNX Runtime 1.31</a></li>')],
)  # fmt: skip
def test_the_summary_of_compiled_models_links_to_a_page_for_every_compiler(module: Any, linked: str) -> None:
    [page] = build_pages([header(), equivalence(), equivalence(compiler="iree", status="mismatch")])
    assert set(page.details) == {"onnxruntime", "iree"}
    assert linked in module.render(page.document)


@pytest.mark.parametrize("module", [markdown, html])
def test_the_contents_link_to_every_heading(module: Any) -> None:
    [page] = build_pages([header(), equivalence()])
    text = module.render(page.document)
    assert len(page.document.headings) > 5
    for heading in page.document.headings:
        place = anchor(heading)
        assert f"(#{place})" in text if module is markdown else f'href="#{place}"' in text and f'id="{place}"' in text


def test_contents_of_restructured_text_are_those_of_sphinx() -> None:
    [page] = build_pages([header(), equivalence()])
    assert ".. contents::\n   :local:" in restructured.render(page.document)


def test_models_stand_below_their_family_and_sources_are_joined() -> None:
    families = {**TITLES, "families": {"lstm": "recurrent"}}
    rows = [equivalence(opset=17), equivalence(opset=18, status="mismatch", reason="off")]
    rows[1]["cell"]["exporter"] = "torchscript"
    [page] = build_pages([header(titles=families), *rows])
    text = markdown.render(page.document)
    assert "## Family: recurrent" in text
    assert "| LSTM | fp32 | mismatch 1/2 |" in text


def test_unverified_cells_are_counted_by_their_kind() -> None:
    rows = [equivalence("fp32", status="unverified", unverified="blocked")]
    rows += [equivalence("bf16", status="unverified", unverified="not sensitive")]
    text = text_of(*rows)
    assert "| compiler | blocked | not sensitive |" in text
    assert "| ONNX Runtime 1.31 | 1 | 1 |" in text


def test_determinism_is_a_figure_of_a_compiler() -> None:
    twice = [
        equivalence("fp32", numbers={"deterministic": True}),
        equivalence("bf16", numbers={"deterministic": False}),
    ]
    assert "| ONNX Runtime 1.31 | 1 of 2 | 50% |" in text_of(*twice, equivalence("w16"))


def test_the_details_of_a_compiler_have_its_numbers_marks_and_what_it_would_miss() -> None:
    numbers = {"E": 0.25, "tolerance_E": 0.5, "strength": 0.7, "mutants_missed": ["bias dropped"]}
    numbers["mutants_unchanged"] = ["input ignored at mask"]
    placement = {"integer": "partly", "integer_share": 0.5, "effective": "int8"}
    one = equivalence("w8a8", numbers=numbers, flags=["weak: 70%", "simulated"], placement=placement)
    [page] = build_pages([header(), one])
    text = markdown.render(page.details["onnxruntime"])
    assert (
        "| LSTM | pytorch (dynamo) | w8a8 (by the tool) | supported | 2.5e-01 | 5.0e-01 |  | 70% |  | weak, simulated |"
        in text
    )
    assert "| int8 | partly (50%) |" in text
    assert "| bias dropped | 1 | equivalence lstm pytorch (dynamo) onnxruntime w8a8 (by the tool) |" in text
    assert "| input ignored at mask | 1 | equivalence lstm pytorch (dynamo) onnxruntime w8a8 (by the tool) |" in text
    assert "(equivalence.md)" in text


def test_pages_of_details_go_with_their_page(tmp_path: Path) -> None:
    [both] = build_pages([header(run="run-1"), equivalence(), equivalence(compiler="iree")])
    both.write(tmp_path)
    assert (tmp_path / "equivalence-iree.md").exists() and (tmp_path / "equivalence-iree.html").exists()
    [one] = build_pages([header(run="run-2"), equivalence()])
    one.write(tmp_path)
    assert not (tmp_path / "equivalence-iree.md").exists() and (tmp_path / "equivalence-onnxruntime.md").exists()
    drop_stale(tmp_path, build_pages([header(run="run-3"), ROWS["onnx-support"]]), "run-3")
    assert not list(tmp_path.glob("equivalence*"))


def test_a_list_of_details_cannot_name_other_files(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine")
    (tmp_path / "equivalence.json").write_text('{"details": ["mine", "equivalence-/../mine", 3]}')
    [page] = build_pages([header(), equivalence()])
    page.write(tmp_path)
    assert (tmp_path / "mine.md").read_text() == "mine"


def test_a_backend_has_a_name_that_files_can_have(tmp_path: Path) -> None:
    [page] = build_pages([header(), equivalence(compiler="onnxruntime[xnnpack]")])
    page.write(tmp_path, formats=["md"])
    assert (tmp_path / "equivalence-onnxruntime-xnnpack.md").exists()


def operator(case: str, status: str = "ERROR", compiler: str = "iree", **more: Any) -> Row:
    axes = {"check": "operator", "model": case, "framework": "onnx", "compiler": compiler}
    return cell(axes, status, stage="compile", symptom="exception", **more)


def test_the_statuses_of_a_backend_add_up_to_its_cases() -> None:
    rows = [operator("test_abs", "supported"), operator("test_cos", "Not provided"), operator("test_sin", "board-lost")]
    [page] = build_pages([header(), *rows, operator("test_tan", "supported", "tvm")])
    heads, [iree, tvm] = page.grids[0][1].heads, page.grids[0][1].rows
    shown = heads[heads.index("cases") + 1 : heads.index("score")]
    assert shown[-2:] == ("board-lost", "Not provided") and "not run" not in shown
    for line, cases in ((iree, 3), (tvm, 1)):
        counts = dict(zip(heads, (cell.text for cell in line), strict=True))
        assert counts["cases"] == str(cases) == str(sum(int(counts[status] or 0) for status in shown))


def test_the_page_of_a_backend_has_the_versions_that_took_part_and_the_summary_those_of_all_toolchains() -> None:
    versions = {"tvm": {"apache-tvm": "0.27.0"}, "iree": {"iree-base-compiler": "3.13.0"}}
    rows = [operator("test_abs", versions={"iree-base-compiler": "3.13.0"}), operator("test_cos", compiler="tvm")]
    [page] = build_pages([header(versions=versions), *rows])
    alone = markdown.render(page.details["iree"]).partition("## Made with")[2]
    assert "| versions | iree-base-compiler 3.13.0 |" in alone and "apache-tvm" not in alone
    assert "| iree | iree-base-compiler 3.13.0 |\n| tvm | apache-tvm 0.27.0 |" in markdown.render(page.document)


class Nesting(HTMLParser):
    """Says where the tags of a page are not closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag != "meta":  # the only one of ours that is never closed
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.mark.parametrize("name", ROWS)
def test_the_tags_of_a_page_are_nested(name: str) -> None:
    [page] = build_pages([header(), ROWS[name]])
    for document in (page.document, *page.details.values()):
        nesting = Nesting()
        nesting.feed(html.render(document))
        assert (nesting.open, nesting.wrong) == ([], [])
        assert {"html", "table", "td", "h2"} <= nesting.seen


def test_text_from_outside_does_not_become_tags() -> None:
    row = equivalence(status="ERROR", reason="<script>alert('x')</script> & \"quoted\"")
    [page] = build_pages([header(), row])
    text = html.render(page.details["onnxruntime"])
    assert "<script" not in text and "&lt;script&gt;alert(" in text and "&amp; &quot;quoted&quot;" in text


def test_the_causes_of_a_backend_are_in_our_words_with_cases_and_finding() -> None:
    known = {"reason": "axes must be constants", "link": "docs/findings/iree_axes.py"}
    rows = [operator(f"test_sum_{one}", expected=known, reason=f"raw {one}", result="xfailed") for one in (1, 2)]
    rows += [operator("test_cos", expected={"reason": "not analysed", "link": ""}, reason="no 'Cos' here")]
    rows += [operator("test_sin", "version skew", reason="opset 28")]
    [page] = build_pages([header(), *rows, operator("test_abs", "supported")])
    text = markdown.render(page.details["iree"])
    place = "compile: exception | axes must be constants | iree_axes.py"
    assert f"| 2 | ERROR | {place} | sum_1, sum_2 |" in text
    assert "raw 1" not in text
    assert "no 'Cos' here |  | cos |" in text and "1 cases. Nobody has looked further" in text
    assert text.index("## Causes") < text.index("## Not analysed") < text.index("## Outside the score")
    assert "1 of 4 cases that it could be asked are supported: 25.0 %." in text
    assert "| IREE 3.11 | 3 | 2 | 2 | 1 |" in markdown.render(page.document)


def test_cases_outside_of_what_a_tool_takes_are_grouped_by_what_becomes_of_them_there() -> None:
    takes = "; iree takes opset 7 to 22; "
    new, at = f"opset 28, IR 14{takes}", "at opset 22, IR 14 it"
    skew = {
        "test_a": f"{new}{at} is supported; as it is it failed so: no IR 14",
        "test_b": f"{new}{at} is supported; as it is it failed so: other words",
        "test_c": f"{new}{at} ends otherwise (ERROR); as it is it failed so: no IR 14",
        "test_d": f"{new}cannot be converted: No Previous Version; it failed so: no IR 14",
        "test_e": f"{new}{at} fails in the same words, so that its version is not the cause: no Einsum",
        "test_f": f"opset 6{takes}it failed so: no Add(6)",
    }
    rows = [operator(name, "version skew", reason=reason) for name, reason in skew.items()]
    [page] = build_pages([header(), *rows, operator("test_abs", "supported")])
    text = markdown.render(page.details["iree"])
    assert "These cases say nothing of the tool and are outside its score. iree takes opset 7 to 22." in text
    lines = [line.split(" | ")[3::2] for line in text.splitlines() if "| version skew | compile" in line]
    assert [[why, names.removesuffix(" |")] for why, names in lines] == [
        ["opset 28, IR 14; at opset 22, IR 14 it is supported", "a, b"],
        ["opset 28, IR 14; at opset 22, IR 14 it ends otherwise (ERROR)", "c"],
        ["opset 28, IR 14; cannot be converted: No Previous Version", "d"],
        ["opset 28, IR 14; at opset 22, IR 14, too: no Einsum", "e"],
        ["opset 6; it failed so: no Add(6)", "f"],
    ]


def test_a_case_and_the_same_with_its_function_expanded_are_named_once() -> None:
    names = ("test_gelu", "test_gelu_expanded", "test_elu_expanded", "test_abs")
    [page] = build_pages([header(), *(operator(name, reason="no") for name in names)])
    assert "| abs, elu_expanded, gelu(\\_expanded) |" in markdown.render(page.details["iree"])
    names = tuple(f"test_{letter}{end}" for letter in "abcdefghijkl" for end in ("", "_expanded"))
    [page] = build_pages([header(), *(operator(name, "version skew", reason="opset 28") for name in names)])
    assert "j(\\_expanded) and 4 more |" in markdown.render(page.details["iree"])


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Load model from /home/u/.cache/a-1/model.onnx failed", "Load model from model.onnx failed"),
        ("Concat /features/block.5/conv gives nothing", "Concat /features/block.5/conv gives nothing"),
        ("docs/findings/iree_axes.py", "docs/findings/iree_axes.py"),
    ],
)
def test_of_files_by_an_absolute_path_the_names_are_shown(said: str, shown: str) -> None:
    [page] = build_pages([header(), operator("test_sin", "version skew", reason=said)])
    assert f"| {shown} |" in markdown.render(page.details["iree"])


def test_a_score_over_time_is_of_runs_with_the_same_selection(tmp_path: Path) -> None:
    def run(name: str, status: str, selected: str) -> None:
        path = tmp_path / "history" / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        rows = [header(run=name, commit=f"commit-{name}"), {**plan(2, 2), "hash": selected}]
        rows += [operator("test_abs", status), operator("test_cos", "supported")]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    run("1", "mismatch", "all")
    run("2", "supported", "some")
    (tmp_path / "history" / "0.jsonl").write_text("not a row\n")
    now = [
        header(),
        {**plan(2, 2), "hash": "all"},
        operator("test_abs", "supported"),
        operator("test_cos", "supported"),
    ]
    [page] = build_pages(now, (), beside(tmp_path / "results.jsonl"))
    text = markdown.render(page.document)
    assert "| 2026-11-21 20:49:52 | abc123 | 100.0 % |\n| 2026-11-21 20:49:52 | commit-1 | 50.0 % |" in text
    assert "commit-2" not in text
    [alone] = build_pages(now)
    assert "over time" not in markdown.render(alone.document)


def test_signatures_of_generated_graphs_say_whether_they_are_known() -> None:
    signature = {"stage": "compare", "symptom": "mismatch", "operators": ["Tanh"], "message": "out of # ULP"}
    seen, new = {**signature, "row": "properties.toml row 2"}, {**signature, "message": "NaN", "reproduced": True}
    rows = [generated("Tanh", "iree", numbers={"tried": 3, "seen": [seen]})]
    rows += [generated("Sin", "iree", "mismatch", numbers={"tried": 3, "seen": [seen], "found": [new]})]
    [page] = build_pages([header(), *rows])
    text = markdown.render(page.details["iree"])
    assert "| compare: mismatch | Tanh | out of # ULP | yes: properties.toml row 2 | Sin, Tanh |" in text
    assert "| compare: mismatch | Tanh | NaN | new | Sin |" in text


def test_only_underscores_at_the_ends_of_words_are_escaped_in_markdown() -> None:
    document = Document("t", (Paragraph("test_a_b _x y_ __init__ 1_2 a_(b)"),))
    assert markdown.render(document).splitlines()[2] == r"test_a_b \_x y\_ \_\_init\_\_ 1_2 a\_(b)"
