"""An environment that the user keeps: used as it is, what is installed in it stands in for a lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing

from .conftest import Workshop


def write(workshop: Workshop, python: str) -> None:
    (workshop.files / "own.toml").write_text(f'title = "Own"\npython = "{python}"\n')


def test_its_distributions_are_its_versions_and_its_hash(workshop: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "gadget-1.0.dist-info").mkdir()
    write(workshop, "../venv/bin/python")
    before = workshop.open()
    assert before.locked_versions("own") == {"gadget": "1.0"}
    assert before.ready("own")
    assert before.ensure("own").samefile(folder / "bin/python")
    (site / "widget-2.0.dist-info").mkdir()
    after = workshop.open()
    assert after.locked_versions("own") == {"gadget": "1.0", "widget": "2.0"}
    assert after.lock_hash("own") != before.lock_hash("own")


def test_host_is_the_interpreter_that_runs_pytest(workshop: Workshop) -> None:
    write(workshop, "host")
    assert workshop.open().ensure("own") == Path(sys.executable)


def test_an_interpreter_that_is_gone_is_named(workshop: Workshop) -> None:
    write(workshop, "nowhere/python")
    with pytest.raises(
        EnvironmentMissing, match=r"own\.toml names the interpreter .*nowhere/python, which is not there"
    ):
        workshop.open().ensure("own")
