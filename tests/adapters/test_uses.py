"""What adapters import of each other is what they say they use, and their methods take the contract's records."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.agent.contract import OPERATIONS
from bench_plugin.inventory.adapters import BUILT_IN
from bench_plugin.inventory.declaration_literal import read_literal

PACKAGE = "bench_plugin.adapters."
FILES = sorted(path for path in BUILT_IN.rglob("*.py") if path.name != "__init__.py")
MODULES = {".".join(path.relative_to(BUILT_IN).with_suffix("").parts): path for path in FILES}


def imported(tree: ast.AST) -> set[str]:
    """Dotted names below the adapters' package that a file imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(PACKAGE):
            inner = f"{node.module}."[len(PACKAGE) :]
            found |= {inner[:-1] if inner[:-1] in MODULES else inner + alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name[len(PACKAGE) :] for alias in node.names if alias.name.startswith(PACKAGE)}
    return found


def test_adapters_are_found() -> None:
    assert imported(ast.parse("from bench_plugin.adapters.frameworks import pytorch")) == {"frameworks.pytorch"}
    assert imported(ast.parse("from bench_plugin.adapters.frameworks.pytorch import plain")) == {"frameworks.pytorch"}
    assert imported(ast.parse("import bench_plugin.adapters.frameworks.mxnet")) == {"frameworks.mxnet"}
    assert "frameworks.pytorch" in MODULES


def declared(path: Path) -> dict[str, Any]:
    return read_literal(path, path.read_bytes())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_an_adapter_imports_is_what_it_uses(path: Path) -> None:
    text = path.read_text("utf-8")
    names = {declared(MODULES[module])["name"] for module in imported(ast.parse(text))}
    assert names == set(declared(path).get("uses", []))
    assert 'import_module("bench_' not in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_operation_takes_the_record_that_the_contract_has_for_it(path: Path) -> None:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    adapter = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Adapter")
    methods = {node.name: node for node in adapter.body if isinstance(node, ast.FunctionDef)}
    own = next((node for node in tree.body if isinstance(node, ast.Assign) and _named(node, "CALLS")), None)
    records: dict[str, str] = {}
    if own is not None and isinstance(own.value, ast.Dict):
        pairs = zip(own.value.keys, own.value.values, strict=True)
        records = {ast.literal_eval(key): ast.unparse(one) for key, one in pairs if key is not None}
    for operation in declared(path)["operations"]:
        _, call = methods[operation].args.args
        assert call.annotation is not None and methods[operation].returns is not None
        wanted = records.get(operation) or OPERATIONS[operation]
        assert (ast.unparse(call.annotation), ast.unparse(methods[operation].returns)) == (wanted, "Reply")


def _named(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
