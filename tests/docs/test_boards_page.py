"""docs/boards.md against stand-ins on this machine: its descriptions are valid, its commands do what it says."""

from __future__ import annotations

import getpass
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bench_plugin.domain.records import load
from bench_plugin.inventory.hardware.board_file import read_board
from bench_plugin.reach.boards.registry import MODULES
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.docs.fences import ROOT, Fence, commands, fences
from tests.project import kept_environment

PAGE = list(fences("docs/boards.md"))
FROM_NOTHING, WITHOUT_SSH = "A Raspberry Pi, from nothing to a time", "Without SSH: an agent that listens"
TEMPLATES = sorted((ROOT / "boards/templates").glob("*.toml"))
TARGETS = [path.stem for path in (ROOT / "boards/targets").glob("*.toml")]
PROGRAMS = {"bench": ("-m", "bench_plugin.cli.main"), "pytest": ("-m", "pytest", "-p", "no:cacheprovider")}


def of(section: str, language: str) -> list[Fence]:
    """The fences of a section of the page."""
    return [fence for fence in PAGE if (fence.section, fence.language) == (section, language)]


def needs(kind: str) -> None:
    """Skip where this tree has no such kind of reach."""
    if kind not in MODULES:
        pytest.skip(f"there is no kind of reach {kind!r} in this tree")


def test_every_fence_of_the_page_is_executed() -> None:
    executed = [*of(FROM_NOTHING, "sh"), *of(WITHOUT_SSH, "text")]
    executed += [fence for fence in PAGE if fence.language == "toml"]
    assert [fence.where for fence in PAGE if fence not in executed and not fence.excuse] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_is_a_valid_description(path: Path) -> None:
    needs(load(path)[1]["reach"]["kind"])
    assert read_board(path, TARGETS).title


@pytest.mark.parametrize("fence", [one for one in PAGE if one.language == "toml"], ids=lambda fence: fence.where)
def test_a_description_of_the_page_is_valid(fence: Fence, tmp_path: Path) -> None:
    path = tmp_path / "pi4.toml"
    path.write_text(fence.text)
    needs(load(path)[1]["reach"]["kind"])
    assert read_board(path, TARGETS).target == "aarch64"


def run(folder: Path, words: tuple[str, ...], *more: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """A command of the page, in the user's folder, as it is written; suites are those of this checkout."""
    real = [str(ROOT / word) if word.startswith("suites/") else word for word in words[1:]]
    return subprocess.run(
        [sys.executable, *PROGRAMS[words[0]], *real, *more], cwd=folder, env=kept_environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
    )  # fmt: skip


def described(folder: Path, fence: Fence, changes: Mapping[str, str]) -> None:
    """Write boards/pi4.toml as the page has it, with the stand-in in the place of the Raspberry Pi."""
    text = fence.text
    for written, meant in changes.items():
        assert written in text
        text = text.replace(written, meant)
    (folder / "boards").mkdir(exist_ok=True)
    (folder / "boards/pi4.toml").write_text(f"same_machine = true\n{text}")
    (folder / "pytest.ini").write_text("[pytest]\n")


@pytest.fixture
def over_ssh(tmp_path: Path) -> Iterator[Path]:
    """A user's folder, and a server of ssh that stands in for the Raspberry Pi."""
    needs("ssh")
    from tests.reach.boards.sshd import Sshd

    server = Sshd(tmp_path)
    python = Toolchains().ensure("onnxruntime")
    reach = (
        f'"127.0.0.1", user = "{getpass.getuser()}", port = {server.port}, key = "{tmp_path}/user", ship = false, '
        f'python = "{python}", options = ["UserKnownHostsFile={tmp_path}/known"]'
    )
    described(tmp_path, of(FROM_NOTHING, "toml")[0], {'"pi4.lab", user = "bench"': reach})
    yield tmp_path
    server.stop()


@pytest.fixture
def over_tcp(tmp_path: Path) -> Iterator[Path]:
    """A user's folder, and the agent that the page starts, on a free port."""
    needs("tcp")
    make, serve, *_ = of(WITHOUT_SSH, "text")
    (tmp_path / "boards").mkdir()
    subprocess.run(["sh", "-ec", make.text], cwd=tmp_path / "boards", check=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = serve.text.split()
    assert command[:3] == ["bench", "board", "serve"]
    python = Toolchains().ensure("onnxruntime")
    argv = [sys.executable, *PROGRAMS["bench"], *command[1:], "--listen", f"127.0.0.1:{port}", "--python", str(python)]
    agent = subprocess.Popen(
        [*argv, "--folder", str(tmp_path / "far")], cwd=tmp_path / "boards", stdout=subprocess.PIPE
    )
    described(tmp_path, of(WITHOUT_SSH, "toml")[0], {"7878": str(port)})
    try:
        assert agent.stdout is not None and b"listening" in agent.stdout.readline()
        yield tmp_path
    finally:
        agent.terminate()
        agent.communicate(timeout=30)


@pytest.mark.parametrize("stand_in", ["over_ssh", "over_tcp"])
def test_the_commands_work_on_a_stand_in(stand_in: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(stand_in)
    listed, timed = of(FROM_NOTHING, "sh")
    for command in commands(listed):
        done = run(folder, command.words)
        assert done.returncode == 0 and "pi4" in done.stdout, done.stdout
    assert "ok     run: 100000 bytes went there and came back" in done.stdout
    [command] = commands(timed)
    done = run(folder, command.words, "--collect-only", "-q", f"--rootdir={folder}")
    assert done.returncode == 0 and "digits_cnn" in done.stdout and "pi4" in done.stdout, done.stdout[-3000:]


@pytest.mark.nightly
@pytest.mark.parametrize("stand_in", ["over_ssh", "over_tcp"])
def test_a_time_is_taken_on_a_stand_in(stand_in: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(stand_in)
    [command] = commands(of(FROM_NOTHING, "sh")[1])
    done = run(folder, command.words, f"--rootdir={folder}", seconds=1800)
    assert done.returncode == 0, done.stdout[-3000:]
    text = (folder / "reports/results.jsonl").read_text()
    assert '"name": "pi4"' in text.replace('":"', '": "') and '"timing"' in text
