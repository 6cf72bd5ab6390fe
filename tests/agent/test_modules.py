"""Adapters as modules of an agent: under their dotted names, and nothing that was not sent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.agent.server import Loaded
from bench_plugin.agent.store import Refused
from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.adapters import Catalog

ADAPTER = """
{imports}
ADAPTER = {{"name": "{name}", "kind": "tool", "toolchain": "onnxruntime", "operations": {operations}, "uses": {uses}}}
WORD = "{name}"


class Adapter:
    def check(self, call):
        return None
"""


def write(path: Path, name: str, imports: str = "", operations: str = "[]", uses: str = "[]") -> Path:
    path.write_text(ADAPTER.format(name=name, imports=imports, operations=operations, uses=uses))
    return path


def test_one_adapter_imports_another_by_its_dotted_name(tmp_path: Path) -> None:
    """In a process that has the agent alone: what lies beside it on the disk must not be found."""
    first = write(tmp_path / "one.py", "one")
    second = write(
        tmp_path / "two.py", "two",
        "from bench_plugin.adapters.own import one\nfrom bench_plugin.adapters.frameworks import pytorch",
    )  # fmt: skip
    third = write(tmp_path / "three.py", "three", "from bench_plugin.adapters.frameworks import tensorflow")
    text = f"""
import json
from bench_plugin.agent import modules
modules.loaded(modules.own("one"), {str(first)!r})
modules.loaded("bench_plugin.adapters.frameworks.pytorch", {str(first)!r})
two = modules.loaded(modules.own("two"), {str(second)!r})
said = [two.one.WORD, two.one.__name__, two.pytorch.__name__]
try:
    modules.loaded(modules.own("three"), {str(third)!r})
except ImportError as error:
    said.append(str(error).partition(" (")[0])
print(json.dumps(said))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        "one", "bench_plugin.adapters.own.one", "bench_plugin.adapters.frameworks.pytorch",
        "cannot import name 'tensorflow' from 'bench_plugin.adapters.frameworks'",
    ]  # fmt: skip


def test_an_operation_that_the_contract_does_not_know_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "odd.py", "odd", operations="['check', 'frobnicate']")
    with pytest.raises(Refused, match="^adapter odd: operation 'frobnicate' is not in the contract, which has "):
        Loaded("odd", str(path), "odd_adapter")
    path.write_text(
        path.read_text() + "\n\nfrom bench_plugin.agent.contract import Call\nCALLS = {'frobnicate': Call}\n"
    )
    assert set(Loaded("odd", str(path), "odd_adapter").calls) == {"check", "frobnicate"}


def test_names_of_built_in_adapters_of_those_that_replace_them_and_of_own_ones(tmp_path: Path) -> None:
    own = write(tmp_path / "mine.py", "my-tool", uses="['onnx_operators']")
    replacing = write(tmp_path / "onnx_operators.py", "onnx_operators")
    catalog = Catalog([own, replacing])
    assert catalog.module("pytorch") == "bench_plugin.adapters.frameworks.pytorch"
    sources = catalog.sources("my-tool")
    assert [source.module for source in sources] == [
        "bench_plugin.adapters.onnx_tools.onnx_operators", "bench_plugin.adapters.own.my_tool",
    ]  # fmt: skip
    assert sources[0].text == replacing.read_bytes()
    with pytest.raises(UsageError):
        catalog.module("nobody")
