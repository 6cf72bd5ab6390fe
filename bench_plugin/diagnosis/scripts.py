"""``repro.py``: shows a defect with the tool itself and numpy; put together from ``bench_plugin/repros``.

One template per tool, and ``shell.py`` with what is the same in all of them; none of these is ever imported.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping
from pathlib import Path
from pprint import pformat
from typing import Any

TEMPLATES = Path(__file__).parent / "templates"
MODULES = ("os", "shutil", "signal", "subprocess", "sys", "tempfile")
IMPORTS = "".join(f"import {name}\n" for name in MODULES) + "\nimport numpy as np\n"
WIDTH = 110


def has_template(tool: str) -> bool:
    """Whether a script can be written for the tool."""
    return tool != "shell" and (TEMPLATES / f"{tool}.py").is_file()


def script(tool: str, *, title: str, said: str, graph: str, facts: Mapping[str, Any]) -> str:
    """The script's text. ``said`` is what is wrong; ``facts`` are its upper-case names."""
    quoted = "\n".join(textwrap.fill(line, WIDTH) for line in said.splitlines())
    head = f"{title}\n\n{quoted}\n\n{graph.rstrip()}\n\nRun: python repro.py (1: the defect shows, 0: it does not)"
    lines = [f'"""{_plain(head)}\n"""', "", IMPORTS, "HERE = os.path.dirname(os.path.abspath(__file__))"]
    lines += [f"{name} = {pformat(value, width=WIDTH, sort_dicts=False)}" for name, value in facts.items()]
    return "\n".join([*lines, _body(f"{tool}.py"), _body("shell.py")])


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _body(name: str) -> str:
    """A template without its docstring."""
    source = (TEMPLATES / name).read_text("utf-8")
    first = ast.parse(source).body[0]
    assert isinstance(first, ast.Expr) and first.end_lineno is not None
    body = "\n".join(source.splitlines()[first.end_lineno :]).strip("\n")
    comment = str(ast.literal_eval(first.value)).splitlines()[0]
    return f"\n\n# {comment}\n{body}\n" if name != "shell.py" else f"\n\n{body}\n"
