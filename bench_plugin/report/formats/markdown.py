"""A document as Markdown (GitHub's tables)."""

from __future__ import annotations

from bench_plugin.report.blocks import Block, Document, Heading, Paragraph, Table

SUFFIX = "md"


def render(document: Document) -> str:
    """The page's text, with a newline at its end."""
    return "\n\n".join([f"# {document.title}", *map(_block, document.blocks)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Paragraph(text):
            return _escaped(text)
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    lines = [
        table.heads,
        tuple("---" for _ in table.heads),
        *(tuple(_escaped(cell.text) for cell in row) for row in table.rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("*", "\\*").replace("_", "\\_")
