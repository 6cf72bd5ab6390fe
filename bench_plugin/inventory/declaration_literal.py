"""What may stand in an ``ADAPTER`` literal: tables with texts as keys, lists, texts, numbers, True, False and None."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import Place, key_text

NAME = "ADAPTER"
HEAD = re.compile(r"\A.*?^ADAPTER\b.*?^\}$", re.MULTILINE | re.DOTALL)  # up to the end of the literal
LARGEST = 2**63  # whole numbers stay below it, as in TOML


class NotPlain(Exception):
    """A value that is not plain data: its place, its line from 1, and what is wrong with it."""

    def __init__(self, place: Place, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.place = place
        self.line = getattr(node, "lineno", 0)


def read_literal(path: Path, source: bytes, *, checked: bool = True) -> dict[str, Any]:
    """The value of the literal in a file. If not ``checked``, the file is one of our own, which tests check.

    Raises UsageError that names the file, the line and the key.
    """
    try:
        literal = _literal_of(source.decode(), checked=checked)
        if checked:
            _check(literal, (NAME,))
        value: dict[str, Any] = ast.literal_eval(literal)
    except NotPlain as error:
        raise UsageError(f"{path}:{error.line}: {key_text(error.place)}: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise UsageError(f"{path}: the adapter cannot be read: {NAME} or another value is nested too deeply") from error
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path}: the adapter cannot be read: {error}") from error
    return value


def _literal_of(source: str, *, checked: bool) -> ast.Dict:
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


def _check(node: ast.expr, place: Place) -> None:
    """Raises NotPlain for the first value that is not plain data."""
    if isinstance(node, ast.Dict):
        _check_table(node, place)
    elif isinstance(node, ast.List | ast.Tuple):
        for index, item in enumerate(node.elts):
            _check(item, (*place, index))
    elif isinstance(node, ast.Set):
        raise NotPlain(place, node, "expected a list, found a set: write [...]")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        _check_constant(node.operand.value, node, place)
    elif isinstance(node, ast.Constant):
        _check_constant(node.value, node, place)
    else:
        raise NotPlain(place, node, "not a literal: the value is read without running the file")


def _check_table(node: ast.Dict, place: Place) -> None:
    seen: set[str] = set()
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise NotPlain(place, value, "** is not a literal: the value is read without running the file")
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise NotPlain(place, key, f"keys are texts, found {ast.unparse(key)[:80]}")
        _check_constant(key.value, key, place)
        if key.value in seen:
            raise NotPlain((*place, key.value), key, "the key stands here twice")
        seen.add(key.value)
        _check(value, (*place, key.value))


def _check_constant(value: object, node: ast.AST, place: Place) -> None:
    if isinstance(value, str):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise NotPlain(place, node, f"half a character (a lone surrogate), found {value!r:.80}")
    elif isinstance(value, int):
        if abs(value) >= LARGEST:
            raise NotPlain(place, node, "a number of more than 63 bits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotPlain(place, node, "expected a finite number")
    elif value is not None:
        raise NotPlain(place, node, f"expected a text, a number, a list or a table, found {value!r:.80}")
