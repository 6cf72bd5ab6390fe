"""Imports that are followed from a file to the files beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.inventory.imports_beside import imports_beside


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a", ["a.py"]),
        ("import a as b, json", ["a.py"]),
        ("from a import x", ["a.py"]),
        ("from . import a", ["a.py"]),
        ("from .a import x", ["a.py"]),
        ("import p.q", ["p/__init__.py", "p/q.py"]),
        ("from p import q", ["p/__init__.py", "p/q.py"]),
        ("from n.m import x", ["n/m.py"]),
        ("def f():\n    import a", ["a.py"]),
        ("__import__('a')", ["a.py"]),
        ("import importlib\nimportlib.import_module('a')", ["a.py"]),
        ("import sys\nsys.path.insert(0, '{elsewhere}')\nimport far", ["../elsewhere/far.py"]),
        ("LOADED = '{elsewhere}/far.py'", ["../elsewhere/far.py"]),
        ("import numpy", []),
        ("import itself", []),
        ("import a(", []),
    ],
)
def test_a_file_imports(tmp_path: Path, text: str, found: list[str]) -> None:
    for name in ("here/a.py", "here/p/__init__.py", "here/p/q.py", "here/n/m.py", "elsewhere/far.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import itself\n")
    own = tmp_path / "here/itself.py"
    own.write_text(text.replace("{elsewhere}", str(tmp_path / "elsewhere")))
    assert list(imports_beside(own)) == found


def test_files_that_import_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("import a, c\n")
    (tmp_path / "c.py").write_text("import b\n")
    assert list(imports_beside(tmp_path / "a.py")) == ["b.py", "c.py"]
