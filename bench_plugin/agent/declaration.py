"""The declaration of an adapter: the ADAPTER literal of its file, read without running it."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict

HEAD = re.compile(r"\A.*?^ADAPTER\b.*?^\}$", re.MULTILINE | re.DOTALL)  # up to the end of the literal


def declaration_of(source: str, *, checked: bool = True) -> Dict[str, Any]:
    """The value of the literal, as :func:`literal_of` finds it. Raises what that raises."""
    value: Dict[str, Any] = ast.literal_eval(literal_of(source, checked=checked))
    return value


def literal_of(source: str, *, checked: bool = True) -> ast.Dict:
    """The literal in a file's syntax tree. If not ``checked``, the rest of the file after it is not parsed.

    Raises SyntaxError for a file that is not Python, ValueError for one without a literal.
    """
    head = None if checked else HEAD.match(source)
    for node in ast.parse(head[0] if head else source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Dict) and any(isinstance(to, ast.Name) and to.id == "ADAPTER" for to in targets):
            return value
    raise ValueError("it has no top-level ADAPTER = {...} literal")
