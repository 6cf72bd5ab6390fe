"""The Python files beside a file that it imports, found by reading it, so that a change of one of them is noticed."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path


def imports_beside(path: Path) -> dict[str, Path]:
    """The files that the Python file ``path`` imports from its own folder, with those that they import, by name.

    A package counts with all its Python files. Followed are import statements, ``import_module`` and ``__import__`` of
    a literal name, folders that a literal adds to ``sys.path``, and literals that are absolute paths of files. Names
    that are computed cannot be followed: whoever does that declares ``files``. A file that is not valid Python imports
    nothing.
    """
    found: dict[str, Path] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        for one in _named(file):
            name = os.path.relpath(one, path.parent)
            if one != path and name not in found:
                found[name] = one
                waiting.append(one)
    return dict(sorted(found.items()))


def _named(path: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    folders = [path.parent]
    modules: list[tuple[Path | None, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [(None, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if 0 < node.level <= len(path.parents) else None
            modules += [(base, f"{node.module}.{alias.name}" if node.module else alias.name) for alias in node.names]
        elif isinstance(node, ast.Call):
            name, texts = _called(node)
            if name in ("import_module", "__import__"):
                modules += [(None, text) for text in texts[:1]]
            if name in ("insert", "append", "addsitedir"):
                folders += [Path(text) for text in texts if os.path.isabs(text) and os.path.isdir(text)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_code(node.value):
            yield Path(node.value)
    for base, module in modules:
        for folder in [base] if base else folders:
            yield from _module(folder, module.split("."))


def _called(node: ast.Call) -> tuple[str, list[str]]:
    """The last name of what is called, and the texts among its arguments."""
    function = node.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    values = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    return name, [value for value in values if isinstance(value, str)]


def _is_code(text: str) -> bool:
    return text.endswith(".py") and os.path.isabs(text) and os.path.isfile(text)


def _module(folder: Path, parts: list[str]) -> Iterator[Path]:
    """The file of a module in ``folder``, or all files of the package that holds it."""
    file, package = folder / f"{parts[0]}.py", folder / parts[0]
    if file.is_file():
        yield file
    elif package.is_dir():
        yield from (one for one in sorted(package.rglob("*.py")) if one.is_file())
