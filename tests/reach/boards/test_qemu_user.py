"""Boards of kind qemu-user: what is missing is named, and emx's programs of other architectures give its numbers."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.hardware.target_file import read_target
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.qemu_user import QemuUser, reach
from bench_plugin.reach.boards.registry import reach_of
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.adapters.real import ROOT, written

LIMITS = Limits(60.0, 1 << 30)
PROGRAMS = {"aarch64": "qemu-aarch64-static", "armhf": "qemu-arm-static", "riscv64": "qemu-riscv64-static"}
# Functions of <math.h> from all three places that programs have them from, and a weight.
MODEL = """
<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y, float[4] z, int64 n)
<float[4] w = {0.5, -1.5, 2.5, 1e-3}> {
    a = Tanh(x)
    b = Erf(x)
    c = Exp(x)
    d = Add(a, b)
    e = Mul(c, w)
    y = Add(d, e)
    r = Round(x)
    s = Sin(x)
    z = Sub(r, s)
    n = Size(x)
}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not Toolchains().folder("emx").is_dir():
        pytest.skip("the toolchain emx is not made: bench env sync emx")
    return written(MODEL, tmp_path_factory.mktemp("model") / "model.onnx")


BUILD = """
import json, sys
from bench_plugin.adapters.compilers.emx import Adapter
from bench_plugin.agent.contract import CompileCall, Place, Target
model, folder, target = sys.argv[1:]
target = Target.read(json.loads(target), "target")
call = CompileCall(batched=False, precision="fp32", graph="original", target=target)
reply = Adapter().compile(call.at(Place(folder, {"model.onnx": model}, {}, lambda stage: None)))
print("made", json.dumps([reply.meta, reply.files]))
"""


def made(model: Path, folder: Path, target: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """The metadata and the files of emx's program for a target."""
    python = str(Toolchains().folder("emx") / "bin" / "python")
    folder.mkdir()
    done = subprocess.run(
        [python, "-c", BUILD, str(model), str(folder), json.dumps(target)], capture_output=True, text=True, check=False,
        cwd=ROOT, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    meta, files = json.loads(done.stdout.rpartition("made ")[2])
    return meta, {name: Path(path) for name, path in files.items()}


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[AgentPool]:
    boards = {name: QemuUser(Board(name, name, "qemu-user"), program) for name, program in PROGRAMS.items()}
    boards["native"] = QemuUser(Board("native", "x86_64", "qemu-user"), "env")
    found = AgentPool(
        lambda name: Path("/nowhere"), tmp_path / "logs", lambda name: [], tmp_path / "work", boards=boards
    )
    yield found
    found.close()


def checked(pool: AgentPool, board: str, files: dict[str, Path]) -> None:
    """Run the program of MODEL and compare its outputs with numpy's."""
    x = np.array([[-2.5, -0.5, 0.5, 1.25], [0.0, 3.5, 9.0, -0.0]], dtype=np.float32)
    outputs = [{"name": "y", "shape": [4]}, {"name": "z", "shape": [4]}, {"name": "n", "shape": []}]
    meta = {"batched": False, "inputs": [{"name": "x", "dtype": "float32", "shape": [4]}], "outputs": outputs}
    with pool.lease("emx", role="run", board=board) as agent:
        answer = agent.call("emx", "run", meta, arrays={"in:x": x}, files=files, limits=LIMITS)
        assert agent.hello["machine_id"] == "emulated-on-host"
    from scipy.special import erf

    wide = x.astype(np.float64)
    y = np.tanh(wide) + erf(wide) + np.exp(wide) * np.float32([0.5, -1.5, 2.5, 1e-3])
    np.testing.assert_allclose(answer.arrays["out0"], y, rtol=2e-6, atol=2e-7)
    np.testing.assert_allclose(answer.arrays["out1"], np.rint(wide) - np.sin(wide), rtol=2e-6, atol=2e-7)
    assert answer.arrays["out2"].tolist() == [4, 4]


@pytest.mark.parametrize("target", PROGRAMS)
def test_a_program_of_another_architecture_gives_the_numbers(
    pool: AgentPool, model: Path, tmp_path: Path, target: str
) -> None:
    if shutil.which(PROGRAMS[target]) is None:
        pytest.skip(f"{PROGRAMS[target]} not found; install qemu-user-static")
    described = read_target(ROOT / "boards" / "targets" / f"{target}.toml")
    meta, files = made(model, tmp_path / "made", described)
    assert meta["switches"]["c_compiler"].startswith("zig cc ")
    assert {"-ffp-contract=off", "-fno-fast-math"} <= set(meta["switches"]["flags"])
    assert meta["placement"]["flash_bytes"] > 1000 < files["program.elf"].stat().st_size
    checked(pool, target, files)


def test_the_same_program_for_this_machine_gives_the_numbers(pool: AgentPool, model: Path, tmp_path: Path) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("needs a machine of architecture x86_64")
    _, files = made(model, tmp_path / "made", {"name": "x86_64", "architecture": "x86_64"})
    checked(pool, "native", files)


def test_a_program_that_is_missing_is_named_with_its_package(pool: AgentPool) -> None:
    board = reach(Board("mips", "mips", "qemu-user", {"program": "qemu-mips-no-such"}))
    assert board.missing() == "qemu-mips-no-such not found; install qemu-user-static"
    assert reach(Board("here", "here", "qemu-user", {"program": "env", "cpu": ""})).missing() == ""


def test_a_board_whose_program_is_gone_is_not_leased(tmp_path: Path) -> None:
    board = QemuUser(Board("mips", "mips", "qemu-user"), "qemu-mips-no-such")
    pool = AgentPool(
        lambda name: Path("/"), tmp_path / "logs", lambda name: [], tmp_path / "work", boards={"mips": board}
    )
    try:
        with (
            pytest.raises(AgentFailure, match="board mips: qemu-mips-no-such not found; install qemu-user-static"),
            pool.lease("emx", board="mips"),
        ):
            pass
    finally:
        pool.close()


@pytest.mark.parametrize("settings", [{}, {"program": ""}, {"program": "qemu-arm-static", "cpu": 53}])
def test_settings_that_are_not_valid_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"board b: reach\.program must be the name of QEMU's program"):
        reach_of(Board("b", "armhf", "qemu-user", settings))
