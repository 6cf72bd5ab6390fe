"""``--bench-all-boards`` through the whole plugin: two machines of the tests' own are the boards of one target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fake import far
from tests.fixtures.test_deployed import COMPILER, FRAMEWORK, compiled_project
from tests.project import Finished, Project

TESTS = """
import pytest

@pytest.mark.bench(targets=["aarch64"], compilers=["fakec"], precisions=["fp32"])
def test_everywhere(deployed):
    assert deployed.numbers["E"] < 1e-3
"""
POOL = ("pi-1", "pi-2")


@pytest.fixture
def pool(tmp_path: Path, tools_python: Path) -> Iterator[tuple[Project, list[ExitStack]]]:
    """A project with two boards of one target, and what ends the machine of each."""
    project = compiled_project(tmp_path, tools_python, TESTS)
    text = COMPILER.read_text().replace('"on_request": True,', '"on_request": True,\n    "boards": ["aarch64"],')
    adapters = f'adapters = ["{FRAMEWORK}", "{project.write("compiler.py", text)}"]'
    project.write("bench.toml", f'{adapters}\ntoolchains = ["toolchains"]\n')
    project.model("net", seconds=20)
    far.know_wired(project)
    machines = [ExitStack() for _ in POOL]
    with ExitStack() as all_machines:
        for name, machine in zip(POOL, machines, strict=True):
            project.write(f"boards/{name}.toml", f'target = "aarch64"\n{far.WIRED.format(socket=f"{name}.socket")}')
            socket = project.folder / "boards" / f"{name}.socket"
            all_machines.enter_context(machine)
            machine.enter_context(far.machine(tools_python, socket, project.folder / f"far-{name}"))
        yield project, machines


def the_row(finished: Finished) -> Mapping[str, Any]:
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert len(rows) == 1, finished.text
    return rows[0]


def test_a_cell_runs_on_each_board_and_has_one_row(pool: tuple[Project, list[ExitStack]]) -> None:
    finished = pool[0].run("--bench-all-boards")
    row = the_row(finished)
    assert finished.code == 0 and row["status"] == "supported", finished.text
    assert row["cell"]["target"] == "aarch64" and "--bench-all-boards" in row["repro"]
    boards = row["numbers"]["boards"]
    assert {name: said["board"]["name"] for name, said in boards.items()} == dict(zip(POOL, POOL, strict=True))
    assert all(said["status"] == "supported" and said["E"] < 1e-3 for said in boards.values())


def test_a_board_that_is_called_like_its_target_runs_too(pool: tuple[Project, list[ExitStack]]) -> None:
    project, _ = pool
    folder = project.folder / "boards"
    (folder / "pi-1.toml").rename(folder / "aarch64.toml")
    row = the_row(project.run("--bench-all-boards"))
    assert row["status"] == "supported", row["reason"]
    assert {name: said["board"]["name"] for name, said in row["numbers"]["boards"].items()} == {
        "aarch64": "aarch64", "pi-2": "pi-2",
    }  # fmt: skip


def test_without_the_option_one_board_is_enough(pool: tuple[Project, list[ExitStack]]) -> None:
    row = the_row(pool[0].run())
    assert row["status"] == "supported" and row["placement"]["board"]["name"] in POOL
    assert row["numbers"]["boards"] is None


def test_a_board_that_is_gone_is_named(pool: tuple[Project, list[ExitStack]]) -> None:
    project, machines = pool
    machines[1].close()
    finished = project.run("--bench-all-boards")
    row = the_row(finished)
    assert finished.code != 0 and row["status"] == "board-lost", finished.text
    assert row["reason"].startswith("board pi-2 (2 of 2 boards ran it): "), row["reason"]
    assert row["numbers"]["boards"]["pi-1"]["status"] == "supported"


LATENCY = """
import pytest

@pytest.mark.bench(targets=["pi-1"], compilers=["fakec"], precisions=["fp32"])
def test_latency(deployed, timing):
    assert timing(deployed).compute.p90 < 10
"""


def test_a_latency_of_an_emulated_board_is_a_usage_error(pool: tuple[Project, list[ExitStack]]) -> None:
    project, _ = pool
    project.write("test_models.py", LATENCY)
    described = project.folder / "boards/pi-1.toml"
    described.write_text(described.read_text() + "emulated = true\n")
    finished = project.run("--bench-profile=smoke")
    assert finished.code == 1, finished.text
    assert "EmulatedLatency: pi-1 is an emulated board, whose compute is no latency of the device" in finished.text
    assert the_row(finished)["placement"]["timing"] == "emulated"
    assert "compute" not in (the_row(finished)["numbers"]["timing"] or {}), "seconds of an emulator are in no row"
