"""A document as Markdown (GitHub's tables)."""

from __future__ import annotations

import re

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table, anchor

SUFFIX = "md"
OUTER_UNDERSCORE = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")  # within a word it is no mark-up (CommonMark 6.2)


def render(document: Document) -> str:
    """The page's text, with a newline at its end."""
    blocks = (_block(block, document) for block in document.blocks)
    return "\n\n".join([f"# {document.title}", *blocks]) + "\n"


def _block(block: Block, document: Document) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Paragraph(text):
            return _escaped(text)
        case Table():
            return _table(block)
        case Contents():
            return "\n".join(f"- [{_escaped(text)}](#{anchor(text)})" for text in document.headings)
        case Pages(links):
            return "\n".join(f"- [{_escaped(text)}]({name}.{SUFFIX})" for text, name in links)


def _table(table: Table) -> str:
    lines = [
        table.heads,
        tuple("---" for _ in table.heads),
        *(tuple(_escaped(cell.text) for cell in row) for row in table.rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(text: str) -> str:
    plain = text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("*", "\\*")
    return OUTER_UNDERSCORE.sub(r"\\_", plain)
