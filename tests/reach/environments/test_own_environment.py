"""An environment that the user keeps: used as it is, what is installed in it stands in for a lock."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.environments.own_environment import examine
from bench_plugin.reach.environments.record_files import sha256_of

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


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder of packages of a virtual environment, with the distribution gadget 1.0."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    made = next(folder.glob("lib/python*/site-packages"))
    (made / "gadget.py").write_text("ANSWER = 42\n")
    info = made / "gadget-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text(f"gadget.py,sha256={sha256_of(str(made / 'gadget.py'))},12\n{info.name}/RECORD,,\n")
    return made


def identity(site: Path) -> str:
    """The hash of the environment as a new run sees it."""
    return examine(site.parents[2] / "bin/python").identity


def test_another_record_under_the_same_version_is_another_environment(site: Path) -> None:
    before = identity(site)
    assert identity(site) == before
    record = site / "gadget-1.0.dist-info/RECORD"
    record.write_text(record.read_text() + "gadget.so,sha256=00,1\n")
    assert identity(site) != before


def test_a_file_that_was_changed_after_its_installation_is_noticed(site: Path) -> None:
    before = identity(site)
    (site / "gadget.py").write_text("ANSWER = 43\n")
    assert identity(site) != before


@pytest.mark.parametrize("kind", ["pth", "egg-link", "finder", "direct_url"])
def test_the_sources_of_an_editable_installation_count(site: Path, tmp_path: Path, kind: str) -> None:
    project = tmp_path / "project"
    (project / "widget").mkdir(parents=True)
    module = project / "widget/__init__.py"
    module.write_text("ANSWER = 42\n")
    if kind == "pth":
        (site / "widget.pth").write_text(f"{project}\n")
    if kind == "egg-link":
        (site / "widget.egg-link").write_text(f"{project}\n.")
    if kind == "finder":
        (site / "__editable___widget_finder.py").write_text(f"MAPPING: dict = {{'widget': '{project}/widget'}}\n")
    if kind == "direct_url":
        (site / "widget-1.0.dist-info").mkdir()
        said = {"url": f"file://{project}", "dir_info": {"editable": True}}
        (site / "widget-1.0.dist-info/direct_url.json").write_text(json.dumps(said))
        (site / "widget-1.0.dist-info/RECORD").write_text("")
    before = identity(site)
    (project / "notes.txt").write_text("not code")
    assert identity(site) == before
    module.write_text("ANSWER = 43\n")
    assert identity(site) != before


def test_what_no_installer_recorded_counts(site: Path) -> None:
    before = identity(site)
    (site / "sitecustomize.py").write_text("import gadget\n")
    after = identity(site)
    (site / "loose").mkdir()
    (site / "loose/code.py").write_text("1\n")
    assert len({before, after, identity(site)}) == 3


def test_packages_of_the_system_count_where_the_environment_sees_them(site: Path, tmp_path: Path) -> None:
    system = tmp_path / "dist-packages"  # as Debian has them: without RECORD
    (system / "widget").mkdir(parents=True)
    (system / "widget-2.1-py3.egg-info").mkdir()
    (system / "widget/__init__.py").write_text("ANSWER = 42\n")
    (site / "system.pth").write_text(f"{system}\n")
    python = site.parents[2] / "bin/python"
    before = examine(python)
    assert before.versions == {"gadget": "1.0", "widget": "2.1"}
    (system / "widget/__init__.py").write_text("ANSWER = 430\n")
    assert examine(python).identity != before.identity


@pytest.mark.skipif(not Path("/usr/lib/python3/dist-packages").is_dir(), reason="the Python of Debian")
def test_the_interpreter_of_debian_is_not_an_empty_lock(workshop: Workshop) -> None:
    write(workshop, "/usr/bin/python3")
    assert workshop.open().locked_versions("own")


def test_an_interpreter_that_does_not_answer_has_no_packages(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python").chmod(0o755)
    write(workshop, "../python")
    assert workshop.open().locked_versions("own") == {}
    assert len(workshop.open().lock_hash("own")) == 64
