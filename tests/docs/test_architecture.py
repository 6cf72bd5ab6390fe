"""The picture of the architecture is that of the code, and the code keeps to the rules that it shows."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from tests.docs.fences import ROOT

SCRIPT = ROOT / "docs/draw_architecture.py"
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")

pytest.importorskip("grimp", reason="comes with the extra dev")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The committed command, as a module."""
    spec = importlib.util.spec_from_file_location("draw_architecture", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_that_of_the_code() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], cwd=ROOT, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_room_is_a_box(script: ModuleType) -> None:
    names = {name for row in script.read_layers() for name in row}
    picture = ElementTree.parse(ROOT / "docs/architecture.svg")
    boxes = {element.text for element in picture.iter() if element.get("class") == "name"}
    folders = {path.parent.name for path in (ROOT / "bench_plugin").glob("*/__init__.py")}
    modules = {path.stem for path in (ROOT / "bench_plugin").glob("*.py")} - {"__init__"}
    assert boxes == names == folders - {"data", "toolchains"} | modules


def test_an_arrow_that_runs_up_is_refused(script: ModuleType) -> None:
    with pytest.raises(script.ArchitectureError, match="compare imports session, which does not stand below it"):
        script.check_direction([["session"], ["compare"]], {"session": {"compare"}, "compare": {"session"}})


def test_a_room_of_more_than_fifteen_files_is_refused(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "bench_plugin" / "room"
    room.mkdir(parents=True)
    for name in ("__init__", *(f"file_{number}" for number in range(15))):
        (room / f"{name}.py").write_text('"""A subject."""\n')
    monkeypatch.setattr(script, "ROOT", tmp_path)
    assert script.read_room("room").total == 15
    script.check_sizes([script.read_room("room")])
    (room / "one_more.py").touch()
    with pytest.raises(script.ArchitectureError, match="room has 16 files; a folder has at most 15"):
        script.check_sizes([script.read_room("room")])


def test_arrows_that_others_imply_are_left_out(script: ModuleType) -> None:
    assert script.without_implied({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": ["b"], "b": ["c"], "c": []}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+(?:\.py|/))`", PAGE))))
def test_files_that_the_page_names_exist(name: str) -> None:
    assert any((base / name).exists() for base in (ROOT, ROOT / "bench_plugin")), f"docs/architecture.md names {name}"
