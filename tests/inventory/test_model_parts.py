"""What belongs to a model besides its own file: imports of its architecture's file, declared files and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.inventory.models import load_model

MODEL = """
files = ["tables"]
environment = ["NET_WIDTH"]
name = "net"
family = "mlp"
task = "classification"
inputs = [{ name = "x", shape = [1, 4] }]
[constructors.pytorch]
callable = "net.py:build"
"""
SOURCE = """
import importlib
import blocks
from pieces import small
extra = importlib.import_module("extra")
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The file of a model, with its architecture and what that imports beside it."""
    (tmp_path / "tables/deep").mkdir(parents=True)
    (tmp_path / "pieces").mkdir()
    for name, text in {"net.py": SOURCE, "blocks.py": "from deeper import *", "net.toml": MODEL}.items():
        (tmp_path / name).write_text(text)
    for name in ("deeper.py", "extra.py", "pieces/small.py", "other.py", "tables/deep/a.csv"):
        (tmp_path / name).write_text("A = 1\n")
    return tmp_path / "net.toml"


@pytest.mark.parametrize(
    "name", ["net.py", "blocks.py", "deeper.py", "extra.py", "pieces/small.py", "tables/deep/a.csv"]
)
def test_a_change_of_an_imported_or_declared_file_is_another_model(model: Path, name: str) -> None:
    before = load_model(model).digest
    assert load_model(model).digest == before
    path = model.parent / name
    path.write_text(path.read_text() + "B = 2\n")
    assert load_model(model).digest != before


def test_a_declared_variable_is_a_part_of_the_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_model(model).digest
    monkeypatch.setenv("NET_WIDTH", "8")
    assert load_model(model).digest != before


def test_other_files_of_the_folder_are_not(model: Path) -> None:
    before = load_model(model).digest
    (model.parent / "other.py").write_text("B = 2\n")
    assert load_model(model).digest == before
