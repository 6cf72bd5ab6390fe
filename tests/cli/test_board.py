"""``bench board``: the list of boards, and the check of one, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake import far
from tests.fake.far import WIRED
from tests.project import Project


@pytest.fixture
def kitchen(project: Project, tools_python: Path) -> Iterator[Project]:
    """A project with a board that answers."""
    far.know_wired(project)
    project.write("boards/kitchen.toml", f'target = "aarch64"\n{WIRED.format(socket="kitchen.socket")}')
    with far.machine(tools_python, project.folder / "boards/kitchen.socket", project.folder / "far"):
        yield project


def test_boards_are_listed(kitchen: Project) -> None:
    kitchen.write("boards/cellar.toml", f'target = "riscv64"\ntitle = "Cellar"\n{WIRED.format(socket="s")}')
    path = kitchen.folder / "boards/cellar.toml"
    path.write_text(
        path.read_text().replace('kind = "wired"', 'kind = "wired", lacks = "wire not found; install wires"')
    )
    rows = {row["name"]: row for row in json.loads(kitchen.bench("board", "list", "--json").stdout)}
    assert (rows["kitchen"]["target"], rows["kitchen"]["kind"], rows["kitchen"]["missing"]) == (
        "aarch64",
        "wired",
        None,
    )
    assert (rows["cellar"]["title"], rows["cellar"]["missing"]) == ("Cellar", "wire not found; install wires")
    table = kitchen.bench("board", "list").stdout
    assert "kitchen" in table and kitchen.bench("list", "boards").stdout == table
    targets = {row["name"]: row for row in json.loads(kitchen.bench("list", "targets", "--json").stdout)}
    assert "kitchen" in targets["aarch64"]["boards"] and targets["coral"]["peaks"][0]["peak_ops_per_s"]
    done = kitchen.bench("board", "check", "cellar")
    assert done.returncode == 4 and "FAILED this machine: wire not found; install wires" in done.stdout


def test_a_board_that_works(kitchen: Project) -> None:
    done = kitchen.bench("board", "check", "kitchen")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "ok     description", "ok     this machine", "ok     board", "ok     place", "ok     run",
    ]  # fmt: skip
    assert (
        "it is this machine, as its file says" in done.stdout and "100000 bytes went there and came back" in done.stdout
    )
    findings = json.loads(kitchen.bench("board", "check", "kitchen", "--json").stdout)
    assert [one["fine"] for one in findings] == [True] * 5


def test_what_is_wrong_with_a_board_is_said(kitchen: Project, tools_python: Path) -> None:
    path = kitchen.folder / "boards/kitchen.toml"
    path.write_text(path.read_text().replace("same_machine = true\n", ""))
    done = kitchen.bench("board", "check", "kitchen")
    assert done.returncode == 1 and "the agent of board kitchen runs on this machine" in done.stdout
    kitchen.write("boards/cellar.toml", f'target = "aarch64"\n{WIRED.format(socket="nowhere")}')
    done = kitchen.bench("board", "check", "cellar")
    assert done.returncode == 1 and "nothing answers at the wire" in done.stdout
    assert "see that it is switched on and that reach in boards/cellar.toml is right" in done.stdout
    done = kitchen.bench("board", "check", "kitchn")
    assert done.returncode == 2 and "unknown board 'kitchn'" in done.stderr and "kitchen" in done.stderr


def test_a_board_of_another_architecture_than_its_target(project: Project, tools_python: Path) -> None:
    far.know_wired(project)
    text = f'target = "riscv64"\n{WIRED.format(socket="kitchen.socket")}'.replace("same_machine = true\n", "")
    project.write("boards/kitchen.toml", text)
    with far.machine(tools_python, project.folder / "boards/kitchen.socket", project.folder / "far", "another"):
        done = project.bench("board", "check", "kitchen")
    assert (
        done.returncode == 1
        and "and target riscv64 is riscv64; give boards/kitchen.toml its true target" in done.stdout
    )


def test_a_mode_is_a_command_on_the_board_and_power_is_read_there(kitchen: Project) -> None:
    sensor = kitchen.write("power1_input", "3250000\n")
    path = kitchen.folder / "boards/kitchen.toml"
    modes = '[modes]\nloud = ["echo", "two words; $HOME"]\nwrong = ["false"]\nnone = ["no-such-program"]\n'
    path.write_text(f'{path.read_text()}power = {{ kind = "hwmon", path = "{sensor}" }}\n{modes}')
    done = kitchen.bench("board", "mode", "kitchen", "loud")
    assert (done.returncode, done.stdout) == (0, "two words; $HOME\n"), "no shell reads it"
    assert f"ok     power: 3.25 W by {sensor}" in kitchen.bench("board", "check", "kitchen").stdout
    done = kitchen.bench("board", "mode", "kitchen", "wrong")
    assert done.returncode == 1 and "mode wrong: false ended with exit code 1" in done.stderr
    done = kitchen.bench("board", "mode", "kitchen", "none")
    assert done.returncode == 3 and "no-such-program" in done.stderr
    done = kitchen.bench("board", "mode", "kitchen", "quiet")
    assert done.returncode == 2 and "unknown mode 'quiet'; valid are: loud, wrong, none" in done.stderr
    sensor.unlink()
    done = kitchen.bench("board", "check", "kitchen")
    assert done.returncode == 1 and "FAILED power:" in done.stdout and "a sensor that the board has" in done.stdout
