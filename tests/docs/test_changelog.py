"""Fragments of the changelog are well formed; towncrier, which CI runs, says the same of those of a release."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.fences import ROOT

FRAGMENTS = [path for path in sorted((ROOT / "changelog.d").iterdir()) if path.name != "README.md"]


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda path: path.name)
def test_a_fragment_is_well_formed(fragment: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
    subject, kind, suffix = fragment.name.split(".")
    assert kind in {row["directory"] for row in settings["type"]}
    assert (bool(subject), suffix) == (True, "md")
    text = fragment.read_text("utf-8").strip()
    assert text.endswith(".")
    assert not text.startswith(("-", "#"))


def test_a_wrong_name_fails_in_ci(tmp_path: Path) -> None:
    pytest.importorskip("towncrier", reason="comes with the extra dev")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy2(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "## next" in done.stdout
    (tmp_path / "changelog.d/thing.improved.md").write_text("It is better.\n")
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 1
    assert "thing.improved.md" in done.stderr + done.stdout
