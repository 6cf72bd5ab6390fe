"""A document as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bench_plugin.report.blocks import Block, Contents, Document, Heading, Pages, Paragraph, Table, TableCell, anchor
from bench_plugin.report.statuses import STATUSES, css_class

SUFFIX = "html"

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1b1f24; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; }
th, td { border: 1px solid #d0d7de; padding: .3rem .6rem; text-align: left; vertical-align: top; }
th { background: #f6f8fa; }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3; } th { background: #161b22; } }
"""


def style() -> str:
    """The style sheet: a class per status; a cell with a background has dark text whatever the page's colours are."""
    rules = [
        f"td.{css_class(one.name)} {{ {f'background: {one.html}; color: #1b1f24' if one.html else 'color: #656d76'}; }}"
        for one in STATUSES
    ]
    return STYLE + "\n".join(rules) + "\n"


def render(document: Document) -> str:
    """The page's text; hints become tooltips, statuses become colours."""
    body = "\n".join([f"<h1>{escape(document.title)}</h1>", *(_block(block, document) for block in document.blocks)])
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(document.title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{style()}</style></head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _block(block: Block, document: Document) -> str:
    match block:
        case Heading(text):
            return f'<h2 id="{anchor(text)}">{escape(text)}</h2>'
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Table():
            return _table(block)
        case Contents():
            return _list([(text, f"#{anchor(text)}") for text in document.headings])
        case Pages(links):
            return _list([(text, f"{name}.{SUFFIX}") for text, name in links])


def _list(links: Sequence[tuple[str, str]]) -> str:
    items = "\n".join(f'<li><a href="{escape(place, quote=True)}">{escape(text)}</a></li>' for text, place in links)
    return f"<ul>\n{items}\n</ul>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.heads)
    rows = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def _cell(cell: TableCell) -> str:
    status = f' class="{css_class(cell.status)}"' if cell.status else ""
    hint = f' title="{escape(cell.hint, quote=True)}"' if cell.hint else ""
    return f"<td{status}{hint}>{escape(cell.text)}</td>"
