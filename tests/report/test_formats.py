"""What the formats of pages do with words that mean something in them, and the style sheet of HTML."""

from __future__ import annotations

import pytest

from bench_plugin.report.blocks import Contents, Document, Heading, Pages, Paragraph, Table, TableCell, anchor
from bench_plugin.report.entries import entry
from bench_plugin.report.formats import html, markdown, restructured, tabular
from bench_plugin.report.parts import first_line
from bench_plugin.report.statuses import STATUSES
from tests.report.made import declared, equivalence


def test_html_keeps_quotes_inside_its_attributes() -> None:
    hint = TableCell("x", "supported", 'it "said" <so>')
    blocks = (Pages((("A <tool>", 'a"tool'),)), Table(("a",), ((hint,),)))
    text = html.render(Document("t", blocks))
    assert '<a href="a&quot;tool.html">A &lt;tool&gt;</a>' in text
    assert 'title="it &quot;said&quot; &lt;so&gt;">x</td>' in text


def test_the_style_sheet_has_a_rule_for_each_status() -> None:
    rules = html.style().splitlines()
    assert "td.mismatch { background: #ffd8b5; color: #1b1f24; }" in rules
    assert "td.not-run { color: #656d76; }" in rules
    assert html.style().endswith("}\n") and all(line.startswith("td.") for line in rules[-len(STATUSES) :])


@pytest.mark.parametrize(
    ("heading", "place"),
    [("What is not supported, and why", "what-is-not-supported-and-why"), ("w8a8_dyn of XX", "w8a8_dyn-of-xx")],
)  # fmt: skip
def test_the_place_of_a_heading_is_made_of_its_small_letters(heading: str, place: str) -> None:
    assert anchor(heading) == place
    text = html.render(Document("t", (Contents(), Heading(heading))))
    assert f'<a href="#{place}">{heading}</a>' in text and f'<h2 id="{place}">{heading}</h2>' in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines of  words", "two lines of  words"), ("it said::", r"it said:\:"), ("it said:", "it said:"),
        ("- no item", r"\ - no item"), ("a*b`c_d|e\\f", r"a\*b\`c\_d\|e\\f"),
    ],
)  # fmt: skip
def test_restructured_text_shows_the_very_words(text: str, shown: str) -> None:
    assert restructured.render(Document("t", (Paragraph(text),))) == f"t\n=\n\n{shown}\n"


def test_csv_has_plain_ends_of_lines_and_nothing_where_a_cell_has_no_value() -> None:
    axes = {"check": "equivalence", "model": "lstm", "framework": "mxnet", "compiler": "iree", "precision": "fp32"}
    entries = [entry(equivalence("fp32")), entry(declared(axes | {"batch": 8}, "Not provided"))]
    text = tabular.render_csv(entries)
    head, first, second, end = text.split("\n")
    assert "\r" not in text and end == "" and "batch" in head.split(",")
    for line, batch in ((first, ""), (second, "8")):
        assert dict(zip(head.split(","), line.split(","), strict=True))["batch"] == batch


@pytest.mark.parametrize(
    ("text", "shown"), [("two\nlines", "two lines"), ("a|b<c*d", r"a\|b&lt;c\*d")],
)  # fmt: skip
def test_markdown_shows_the_very_words_in_one_line(text: str, shown: str) -> None:
    blocks = (Paragraph(text), Table(("a",), ((TableCell(text),),)))
    assert markdown.render(Document("t", blocks)).endswith(f"| {shown} |\n")


def test_a_first_line_is_cut_visibly_behind_140_characters() -> None:
    whole, longer = (entry(equivalence(reason="x" * count + "\nmore")) for count in (140, 141))
    assert first_line(whole) == "x" * 140 and first_line(longer) == "x" * 139 + "…"
