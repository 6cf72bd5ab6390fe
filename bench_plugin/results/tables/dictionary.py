"""The data dictionary: tables and columns with type, unit and meaning, as CSV beside an export and in docs/data.md."""

from __future__ import annotations

import csv
import io

from bench_plugin.results.tables.columns import TABLES, Column, Table

DICTIONARY = "dictionary.csv"
HEADS = ("table", "column", "type", "unit", "meaning")
BEGIN, END = "<!-- columns: made by bench export --dictionary -->\n", "<!-- end of columns -->\n"


def dictionary() -> str:
    """The dictionary as CSV, one line per column of every table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADS)
    writer.writerows(
        (table.name, one.name, str(one.type), one.unit, one.meaning) for table in TABLES for one in table.columns
    )
    return text.getvalue()


def markdown() -> str:
    """The dictionary as the part of docs/data.md that is made."""
    return "\n".join(_section(table) for table in TABLES)


def _section(table: Table) -> str:
    lines = [f"## Table `{table.name}`", "", f"One line is {table.line}.", "", "| column | type | unit | meaning |"]
    lines += ["|---|---|---|---|", *(_line(column) for column in table.columns)]
    return "\n".join(lines) + "\n"


def _line(column: Column) -> str:
    return f"| `{column.name}` | {column.type} | {column.unit} | {column.meaning.replace('|', '/')} |"


def with_columns(page: str) -> str:
    """A page with the dictionary between its two marks. Raises ValueError for a page without them."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no lines {BEGIN.strip()} and {END.strip()}")
    return f"{head}{begin}\n{markdown()}\n{end}{tail}"
