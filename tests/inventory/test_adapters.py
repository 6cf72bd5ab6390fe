"""Declarations are read from the adapters' files: of our own as far as the literal, of others whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.adapters import BUILT_IN, read_adapter
from bench_plugin.inventory.declaration_literal import read_literal

OWN = [path for path in sorted(BUILT_IN.rglob("*.py")) if not path.name.startswith("_")]


@pytest.mark.parametrize("path", OWN, ids=[path.stem for path in OWN])
def test_the_literal_is_the_same_however_far_the_file_is_read(path: Path) -> None:
    source = path.read_bytes()
    assert read_literal(path, source, checked=False) == read_literal(path, source)


def test_a_mistake_behind_the_literal_of_a_users_adapter_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text('ADAPTER = {\n    "name": "mine",\n}\ndef compile(:\n')
    with pytest.raises(UsageError, match=r"mine\.py: the adapter cannot be read: .*line 4"):
        read_adapter(path)


def test_another_build_of_a_tool_is_found_by_its_name() -> None:
    [adapter] = [read_adapter(path) for path in OWN if path.stem == "onnxruntime"]
    assert adapter.build({"onnxruntime": "1.0", "numpy": "2.0"}) == "onnxruntime"
    assert adapter.build({"onnxruntime-gpu": "1.0", "numpy": "2.0"}) == "onnxruntime-gpu"
    assert adapter.build({"numpy": "2.0", "onnx": "1.0"}) == "onnxruntime"
