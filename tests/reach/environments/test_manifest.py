"""A toolchain that was changed by hand is not used, and says so; what changes by itself does not count."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.environments import manifest

from .conftest import Workshop


@pytest.fixture
def site(workshop: Workshop) -> Path:
    """The folder of packages of the toolchain gadgets, which is made."""
    workshop.toolchain()
    workshop.open().ensure("gadgets")
    return next(workshop.open().folder("gadgets").glob("lib/python*/site-packages"))


def edited(site: Path) -> None:
    (site / "gadget.py").write_text("ANSWER = 43\n")


def added(site: Path) -> None:
    (site / "sitecustomize.py").write_text("import gadget\n")


def removed(site: Path) -> None:
    (site / "gadget.py").unlink()


def installed(site: Path) -> None:
    info = site / "widget-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("widget-1.0.dist-info/RECORD,,\n")


def replaced(site: Path) -> None:
    (site / "gadget.py").unlink()
    (site / "gadget.py").symlink_to("/dev/null")


def opened(site: Path) -> None:
    config = site.parents[2] / "pyvenv.cfg"
    config.write_text(config.read_text().replace("site-packages = false", "site-packages = true"))


CHANGES = {
    edited: "gadget.py has changed", added: "sitecustomize.py was added", removed: "gadget.py is missing",
    installed: "widget-1.0.dist-info/RECORD was added", replaced: "gadget.py has changed",
    opened: "pyvenv.cfg has changed",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_by_hand_is_refused(workshop: Workshop, site: Path, change: Callable[[Path], None]) -> None:
    change(site)
    toolchains = workshop.open()
    for _ in range(2):  # every cell that needs it gets the reason
        with pytest.raises(EnvironmentMissing) as caught:
            toolchains.ensure("gadgets")
        said = str(caught.value)
        assert CHANGES[change] in said and said.endswith("make it again: bench env sync gadgets --again")
    again = workshop.open()
    again.ensure("gadgets", again=True)
    assert manifest.changes(again.folder("gadgets"), again.locked_versions("gadgets")) == []
    assert (site / "gadget.py").read_text() == "ANSWER = 42\n"


def test_what_python_compiles_does_not_count(workshop: Workshop, site: Path) -> None:
    python = workshop.open().ensure("gadgets")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([python, "-c", "import gadget"], check=True, env=kept)
    (site / "old.pyc").write_bytes(b"")
    assert list(site.glob("__pycache__/gadget*.pyc"))
    assert workshop.open().ensure("gadgets") == python


def test_a_copy_with_other_times_is_as_good(workshop: Workshop, site: Path) -> None:
    for path in site.rglob("*"):
        os.utime(path, (10**9, 10**9))
    folder = workshop.open().folder("gadgets")
    before = (folder / manifest.NAME).read_text()
    assert workshop.open().ensure("gadgets").exists()
    assert (folder / manifest.NAME).read_text() != before, "the next run compares with these times"


@pytest.mark.parametrize("change", [edited, added, removed, installed])
def test_one_of_an_earlier_version_is_compared_with_its_records(
    workshop: Workshop, site: Path, change: Callable[[Path], None]
) -> None:
    folder = workshop.open().folder("gadgets")
    (folder / manifest.NAME).unlink()
    workshop.open().ensure("gadgets")
    assert (folder / manifest.NAME).exists(), "made at first use"
    (folder / manifest.NAME).unlink()
    change(site)
    with pytest.raises(EnvironmentMissing, match="is not as its lock made it"):
        workshop.open().ensure("gadgets")
    assert not (folder / manifest.NAME).exists()


def test_it_is_looked_at_once_in_a_run(workshop: Workshop, site: Path) -> None:
    toolchains = workshop.open()
    toolchains.ensure("gadgets")
    edited(site)
    toolchains.ensure("gadgets")


def test_sync_makes_it_again_when_told_to(workshop: Workshop, site: Path) -> None:
    edited(site)
    command = [sys.executable, "-m", "bench_plugin.cli.main", "env", "sync", f"--toolchains={workshop.files}"]
    refused = subprocess.run([*command, "gadgets"], capture_output=True, text=True, timeout=60, cwd=workshop.files)
    assert refused.returncode == 4 and "gadget.py has changed" in refused.stderr
    doctor = subprocess.run(
        [*command[:-2], "doctor", command[-1]], capture_output=True, text=True, timeout=60, cwd=workshop.files
    )
    assert "MISSING toolchain gadgets: " in doctor.stdout and "gadget.py has changed" in doctor.stdout
    unnamed = subprocess.run([*command, "--again"], capture_output=True, text=True, timeout=60, cwd=workshop.files)
    assert unnamed.returncode == 2 and "name the toolchains" in unnamed.stderr
    made = subprocess.run(
        [*command, "gadgets", "--again"], capture_output=True, text=True, timeout=60, cwd=workshop.files
    )
    assert made.returncode == 0, made.stderr
    assert (site / "gadget.py").read_text() == "ANSWER = 42\n"


def test_a_long_list_of_changes_is_cut() -> None:
    said = manifest.described(f"{name} has changed" for name in "abcde")
    assert said == "a has changed; b has changed; c has changed (and 2 more)"
