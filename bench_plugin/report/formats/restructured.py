"""A document as reStructuredText (list tables)."""

from __future__ import annotations

import re

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table

SUFFIX = "rst"
# What makes something else than a paragraph of a text: an item of a list, an option, a field, a comment, a rule ...
MARKUP = re.compile(r"[-+•‣⁃/:.>]|[(]?(?:\w{1,6}|#)[.)](?:\s|$)|([^\w\s])\1{3}")


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
    shown = _escaped(text)
    return f"{shown}\n{line * len(shown)}"


def _table(table: Table) -> str:
    headed = ["   :header-rows: 1"] if table.rows else []  # docutils takes no table of a head alone
    lines = [".. list-table::", *headed, ""]
    for row in (table.heads, *(tuple(cell.text for cell in row) for row in table.rows)):
        for index, text in enumerate(row):
            lines.append(f"   {'*' if index == 0 else ' '} - {_escaped(text)}".rstrip())
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Text that is read as a paragraph of these very words, whatever it begins and ends with."""
    begun = "\\ " if MARKUP.match(text) else ""  # an escaped space, which shows as nothing
    for character in "\\*`_|":
        text = text.replace(character, "\\" + character)
    text = " ".join(text.split("\n"))
    return begun + (f"{text[:-1]}\\:" if text.endswith("::") else text)
