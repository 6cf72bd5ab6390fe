"""What an adapter says of itself: the ADAPTER literal of its file, read without running it."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict

HEAD = re.compile(r"\A.*?^ADAPTER\b.*?^\}$", re.MULTILINE | re.DOTALL)  # of a file, up to the end of the literal


def declaration_of(source: str, *, checked: bool = True) -> Dict[str, Any]:
    """The literal's value; of a file that is not ``checked``, what follows the literal is not looked at.

    Raises SyntaxError for a file that is not Python, ValueError for one without a literal.
    """
    head = None if checked else HEAD.match(source)
    for node in ast.parse(head[0] if head else source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if value is not None and any(isinstance(target, ast.Name) and target.id == "ADAPTER" for target in targets):
            literal = ast.literal_eval(value)
            if isinstance(literal, dict):
                return literal
    raise ValueError("it has no top-level ADAPTER = {...} literal")
