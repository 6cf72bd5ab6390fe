"""``bench env``: sync, list, doctor, lock, as processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Workshop


def bench(*arguments: str, shop: Workshop) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", "env", f"--toolchains={shop.files}", *arguments]
    return subprocess.run(command, cwd=shop.files, capture_output=True, text=True, timeout=60)


def test_sync_makes_it_and_list_says_so(workshop: Workshop) -> None:
    workshop.toolchain()
    assert (
        "gadgets      not made yet            Python >=3.11        gadget 1.0\n" in bench("list", shop=workshop).stdout
    )
    done = bench("sync", "gadgets", shop=workshop)
    assert done.returncode == 0 and done.stderr.startswith("making toolchain gadgets (first use): 1 distributions\n")
    assert "gadgets      ready " in bench("list", shop=workshop).stdout


def test_sync_goes_on_after_one_that_cannot_be_made(workshop: Workshop) -> None:
    workshop.toolchain()
    workshop.toolchain("ancient", extra='interpreter = ">=3.99"')
    done = bench("sync", "ancient", "gadgets", shop=workshop)
    assert done.returncode == 4
    assert "toolchain ancient needs Python >=3.99" in done.stderr and "Traceback" not in done.stderr
    assert "toolchain gadgets is ready" in done.stderr
    assert done.stdout.startswith("ancient: not made\ngadgets: /")


def test_sync_of_an_unknown_name_makes_nothing(workshop: Workshop) -> None:
    workshop.toolchain()
    done = bench("sync", "gadgets", "gizmos", shop=workshop)
    assert done.returncode == 2 and "no toolchain 'gizmos'; valid are " in done.stderr
    assert "gadgets, " in done.stderr
    assert workshop.made() == []


def test_doctor_names_what_is_missing_and_how_to_fix_it(workshop: Workshop) -> None:
    workshop.toolchain()
    workshop.toolchain("ancient", extra='interpreter = ">=3.99"')
    workshop.toolchain("stale", lock="gadget==0.9\n")
    done = bench("doctor", shop=workshop)
    assert done.returncode == 4
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok      uv: uv ")
    assert f"ok      cache: {workshop.cache}, " in done.stdout
    assert "MISSING registry: cannot be reached: " in done.stdout
    assert (
        "MISSING toolchain ancient: toolchain ancient needs Python >=3.99, which is not on this machine" in done.stdout
    )
    assert "make it again: bench env lock stale" in done.stdout
    assert (
        "ok      toolchain gadgets: not made yet; made on first use, or: bench env sync gadgets (with /" in done.stdout
    )


def test_lock_is_hashed_and_names_no_place(workshop: Workshop) -> None:
    workshop.toolchain(lock="")
    done = bench("lock", "gadgets", shop=workshop)
    assert done.returncode == 0 and done.stdout.endswith("gadgets.lock: 1 changed\n  gadget - -> 1.0\n")
    assert (workshop.files / "gadgets.lock").read_text() == workshop.pin()
    assert bench("lock", "gadgets", shop=workshop).stdout.endswith(": 0 changed\n")


def test_lock_of_what_does_not_exist_says_so(workshop: Workshop) -> None:
    workshop.toolchain(lock="kept\n")
    (workshop.files / "gadgets.toml").write_text('title = "x"\ninterpreter = ">=3.11"\nrequirements = ["gizmo==1"]\n')
    done = bench("lock", "gadgets", shop=workshop)
    assert done.returncode == 4 and "gizmo" in done.stderr and done.stderr.count("\n") == 1
    assert (workshop.files / "gadgets.lock").read_text() == "kept\n"


@pytest.mark.parametrize("setting", ["bench.toml", "pyproject.toml"])
def test_configured_folders_are_searched(workshop: Workshop, setting: str) -> None:
    workshop.toolchain()
    table = "" if setting == "bench.toml" else "[tool.bench_plugin]\n"
    (workshop.cache.parent / setting).write_text(f'{table}toolchains = ["files"]\n')
    command = [sys.executable, "-m", "bench_plugin.cli.main", "env", "list"]
    done = subprocess.run(command, cwd=workshop.cache.parent, capture_output=True, text=True, timeout=60)
    assert any(line.startswith("gadgets ") for line in done.stdout.splitlines()), done.stderr


def test_list_says_how_much_room_an_environment_takes(workshop: Workshop) -> None:
    workshop.toolchain()
    assert _row(workshop)["bytes"] is None
    assert bench("sync", "gadgets", shop=workshop).returncode == 0
    row = _row(workshop)
    used = sum(path.lstat().st_blocks * 512 for path in Path(row["folder"]).rglob("*") if not path.is_dir())
    assert row["ready"] and row["bytes"] == used > 0


def test_a_lock_that_disagrees_with_its_toml_is_said_and_refused(workshop: Workshop) -> None:
    workshop.toolchain()
    assert bench("sync", "gadgets", shop=workshop).returncode == 0
    toml = workshop.files / "gadgets.toml"
    toml.write_text(toml.read_text().replace("gadget==1.0", "gadget>=2"))
    said = "gadgets.toml asks for gadget>=2, the lock has gadget==1.0; make it again: bench env lock gadgets"
    listed = bench("list", shop=workshop)
    assert listed.returncode == 1 and said in listed.stderr
    assert any(line.startswith("gadgets      LOCK DIFFERS") for line in listed.stdout.splitlines())
    doctor = bench("doctor", shop=workshop)
    assert doctor.returncode == 4 and "MISSING toolchain gadgets: " in doctor.stdout and said in doctor.stdout
    sync = bench("sync", "gadgets", shop=workshop)
    assert sync.returncode == 2 and said in sync.stderr


def test_an_override_that_the_lock_does_not_follow_disagrees(workshop: Workshop) -> None:
    workshop.toolchain(extra='overrides = ["gadget<1", "gizmo ; sys_platform == \'never\'"]')
    assert "asks for gadget<1, the lock has gadget==1.0" in bench("list", shop=workshop).stderr


def test_a_requirement_that_is_none_is_named(workshop: Workshop) -> None:
    workshop.toolchain()
    (workshop.files / "gadgets.toml").write_text('title = "x"\ninterpreter = ">=3.11"\nrequirements = ["gizmo = 1"]\n')
    done = bench("list", shop=workshop)
    assert done.returncode == 2 and "requirements: 'gizmo = 1' is not a requirement such as" in done.stderr


def test_the_option_stands_before_or_behind_the_action(workshop: Workshop) -> None:
    workshop.toolchain()
    command = [sys.executable, "-m", "bench_plugin.cli.main", "env", "list", "--toolchains", str(workshop.files)]
    done = subprocess.run(command, cwd=workshop.cache.parent, capture_output=True, text=True, timeout=60)
    assert "\ngadgets " in done.stdout == bench("list", shop=workshop).stdout


def _row(shop: Workshop) -> dict[str, Any]:
    rows = json.loads(bench("list", "--json", shop=shop).stdout)
    found: dict[str, Any] = next(row for row in rows if row["name"] == "gadgets")
    return found
