"""What an adapter says of itself: the ADAPTER literal of its file, read without running it."""

from __future__ import annotations

import ast
from typing import Any, Dict


def declaration_of(source: str) -> Dict[str, Any]:
    """The literal's value. Raises SyntaxError for a file that is not Python, ValueError for one without a literal."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if value is not None and any(isinstance(target, ast.Name) and target.id == "ADAPTER" for target in targets):
            literal = ast.literal_eval(value)
            if isinstance(literal, dict):
                return literal
    raise ValueError("it has no top-level ADAPTER = {...} literal")
