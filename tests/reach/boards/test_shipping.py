"""Runtimes for boards: locked with hashes, packed once, the same byte for byte, and used on the board."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.reach.boards.linux import shipping
from bench_plugin.reach.boards.linux.shipping import Machine
from bench_plugin.reach.boards.registry import reach_of
from bench_plugin.reach.environments.locking import make_board_lock
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.boards.sshd import Sshd, sshd
from tests.reach.environments.conftest import Workshop, workshop
from tests.reach.processes.conftest import FAKE, LIMITS

__all__ = ["sshd", "workshop"]

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
MACHINE = Machine("aarch64", HERE)


@pytest.fixture
def shop(workshop: Workshop) -> Workshop:
    """A workshop with the toolchain "gadgets", whose gadget boards need too, and its locks."""
    workshop.toolchain(extra='boards = ["gadget"]')
    workshop.files.joinpath("boards").mkdir()
    workshop.files.joinpath("boards", "gadgets.lock").write_text(workshop.pin())
    return workshop


def names(path: Path) -> list[str]:
    """The paths in a tar."""
    with tarfile.open(path) as archive:
        return archive.getnames()


def test_a_runtime_is_an_environments_folder_named_by_its_content(shop: Workshop) -> None:
    made = shipping.runtime(shop.open()["gadgets"], MACHINE)
    assert f"lib/python{HERE}/site-packages/gadget.py" in names(made.path)
    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == made.sha256 == made.path.stem
    compiled = f"lib/python{HERE}/site-packages/__pycache__/gadget.cpython-{HERE.replace('.', '')}.pyc"
    assert compiled in names(made.path), "boards are slow at compiling"


def test_it_is_fetched_once(shop: Workshop) -> None:
    toolchain = shop.open()["gadgets"]
    assert shipping.made_before(toolchain, MACHINE) is None
    made = shipping.runtime(toolchain, MACHINE)
    shutil.rmtree(shop.wheels)
    assert shipping.runtime(toolchain, MACHINE) == shipping.made_before(toolchain, MACHINE) == made
    with pytest.raises(EnvironmentMissing, match="the runtimes of toolchain gadgets for Python 3.12 on aarch64 cannot"):
        shipping.runtime(toolchain, Machine("aarch64", "3.12"))
    assert [path.name for path in made.path.parent.parent.iterdir()] == [made.path.parent.name], "nothing is left"


def test_the_same_content_gives_the_same_file(shop: Workshop, tmp_path: Path) -> None:
    toolchain = shop.open()["gadgets"]
    first = shipping.runtime(toolchain, MACHINE, tmp_path / "one")
    second = shipping.runtime(toolchain, MACHINE, tmp_path / "elsewhere" / "two")
    assert first.sha256 == second.sha256


def test_the_lock_of_boards_has_the_versions_of_the_toolchain(shop: Workshop) -> None:
    lock = shop.files / "boards" / "gadgets.lock"
    assert shipping.pins(shop.open()["gadgets"]) == shop.pin()
    lock.write_text(lock.read_text().replace("1.0", "0.9"))
    with pytest.raises(UsageError, match=r"gadget is 0.9, and 1.0 in gadgets.lock; make it: bench env lock gadgets"):
        shipping.pins(shop.open()["gadgets"])
    lock.unlink()
    with pytest.raises(UsageError, match=r"cannot be read .*; make it: bench env lock gadgets"):
        shipping.pins(shop.open()["gadgets"])


def test_a_lock_of_boards_is_made_from_that_of_the_toolchain(shop: Workshop) -> None:
    """A folder of wheels has no hashes, so that here only the versions can be seen."""
    lock = shop.files / "boards" / "gadgets.lock"
    lock.unlink()
    make_board_lock(shop.open()["gadgets"])
    assert lock.read_text().split() == ["gadget==1.0"]


def test_what_the_lock_has_not_cannot_be_shipped(workshop: Workshop) -> None:
    workshop.toolchain(extra='boards = ["widget"]')
    with pytest.raises(UsageError, match=r"boards: widget is not in gadgets.lock"):
        make_board_lock(workshop.open()["gadgets"])


def test_every_lock_of_boards_agrees_with_its_toolchain() -> None:
    toolchains = Toolchains()
    for_boards = [name for name in toolchains.names if toolchains[name].boards]
    assert for_boards
    for name in for_boards:
        assert "--hash=sha256:" in shipping.pins(toolchains[name])


def test_the_runtime_as_a_disk(shop: Workshop) -> None:
    if shutil.which("debugfs", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        pytest.skip("debugfs not found; Debian: package e2fsprogs")
    made = shipping.runtime(shop.open()["gadgets"], MACHINE)
    disk = shipping.disk(made)
    assert disk is not None
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    asked = f"cat {made.sha256}/lib/python{HERE}/site-packages/gadget.py"
    said = subprocess.run(["debugfs", "-R", asked, str(disk)], capture_output=True, check=True, env=environment)
    assert said.stdout == b"ANSWER = 42\n"


def test_a_board_runs_with_what_was_shipped(shop: Workshop, sshd: Sshd) -> None:
    """The board's own Python has no gadget; the one of the environment that was shipped has."""
    text = FAKE.read_text().replace('"remembered": self.remembered', '"remembered": __import__("gadget").ANSWER')
    pool = AgentPool(
        lambda name: Path(sys.executable), sshd.folder / "logs", lambda name: [Source(name, text.encode())],
        sshd.folder / "scratch", boards={"pi": reach_of(sshd.board(ship=True))}, toolchains=shop.open(),
    )  # fmt: skip
    try:
        with pool.lease("gadgets", board="pi") as agent:
            assert agent.call("fake", "go", {}, limits=LIMITS).meta["remembered"] == 42
    finally:
        pool.close()
    made = shipping.made_before(shop.open()["gadgets"], Machine(platform.machine(), HERE))
    assert made is not None
    assert sshd.cache.joinpath(made.sha256, "bin", "python3").exists()
