"""How the subcommands print: data on standard output, as text or as JSON; remarks and progress on standard error."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

GAP = "  "


def note(text: str) -> None:
    """A remark or a line of progress, on standard error."""
    print(text, file=sys.stderr, flush=True)


def shown(path: Path) -> Path:
    """A path as a message shows it: relative to where the user stands when it lies below."""
    path = path.absolute()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def print_json(value: Any) -> None:
    """Plain data as indented JSON; paths become text."""
    print(json.dumps(value, indent=1, ensure_ascii=False, default=_plain))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Aligned columns with a heading; in a terminal every line is cut to its width."""
    cells = [[column.replace("_", " ") for column in columns], *([_text(row[key]) for key in columns] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in cells:
        print(GAP.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()[:most])


def _text(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(value)
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return str(Path(value))
    if hasattr(value, "item"):
        return value.item()  # a scalar of numpy
    raise TypeError(f"{type(value).__name__} is not plain data")
