"""A document as reStructuredText (list tables)."""

from __future__ import annotations

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table

SUFFIX = "rst"


def render(document: Document) -> str:
    """The page's text, with a newline at its end."""
    return "\n\n".join([_title(document.title, "="), *map(_block, document.blocks)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return _title(text, "-")
        case Paragraph(text):
            return _escaped(text)
        case Table():
            return _table(block)
        case Contents():
            return ".. contents::\n   :local:"
        case Pages(links):
            return "\n".join(f"* :doc:`{_escaped(text)} <{name}>`" for text, name in links)


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _table(table: Table) -> str:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (table.heads, *(tuple(cell.text for cell in row) for row in table.rows)):
        for index, text in enumerate(row):
            lines.append(f"   {'*' if index == 0 else ' '} - {_escaped(text)}".rstrip())
    return "\n".join(lines)


def _escaped(text: str) -> str:
    for character in "\\*`_|":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")
