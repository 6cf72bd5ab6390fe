"""``bench board peaks``: microkernels on this machine, on emulated boards, and the file that predictions use."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from bench_plugin.agent.link.identity import machine_id
from bench_plugin.characterise.prediction.roofs import modes_of
from bench_plugin.cli.main import main
from bench_plugin.cli.shared.peaks.measuring import KERNELS, Program
from bench_plugin.cli.shared.predicting.grid import measured_peaks
from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.hardware.peaks_file import (
    FOLDER,
    MeasuredBandwidth,
    MeasuredPeak,
    MeasuredPeaks,
    peaks_text,
    read_peaks,
)
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.processes.leased_agent import Answer, LeasedAgent

ROOT = Path(__file__).parents[2]
PEAKS = MeasuredPeaks(
    "local", "2026-11-22", "zig cc 0.17.1", ("-O3",), 'A "processor"', "abc", "x86_64",
    (MeasuredPeak("fp32", 2, 1.25e11, 1.2e11, 7), MeasuredPeak("fp32", 1, 6.5e10, 6.4e10, 7)),
    (MeasuredBandwidth("read", 2, 2.5e10, 2.4e10, 1 << 26, 7), MeasuredBandwidth("copy", 2, 2e10, 2e10, 1 << 26, 7)),
)  # fmt: skip


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench_plugin.cli.main", "board", "peaks", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def needs_toolchain(*names: str) -> None:
    for name in names:
        if not Toolchains().folder(name).is_dir():
            pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "local.toml"
    path.write_text(peaks_text(PEAKS))
    assert read_peaks(path) == PEAKS
    path.rename(tmp_path / "other.toml")
    with pytest.raises(UsageError, match="other.toml:2: board: it must be the name of the file, 'other'"):
        read_peaks(tmp_path / "other.toml")


def test_measured_figures_take_the_place_of_published_ones() -> None:
    sheet = {"source": "sheet", "peak_ops_per_s": {"fp32": 2e11, "int8": 8e11}}
    said = {"peaks": [sheet], "memories": [{"name": "ram", "bandwidth_bytes_per_s": 5e10, "source": "sheet"}]}
    whole, single = modes_of("local", said, PEAKS)
    assert (whole.mode, single.mode) == ("", "1 thread")
    assert (whole.peaks["fp32"].value, whole.peaks["fp32"].basis) == (1.25e11, "measured")
    assert (whole.peaks["int8"].value, whole.peaks["int8"].basis) == (8e11, "datasheet")
    assert whole.bandwidth is not None and (whole.bandwidth.value, whole.bandwidth.of) == (2.5e10, "read")
    assert list(single.peaks) == ["fp32"]


def test_the_peaks_of_this_machine_are_measured_written_and_used(tmp_path: Path) -> None:
    needs_toolchain("emx")
    (tmp_path / "bench.toml").write_text("")
    done = bench(tmp_path, "--seconds", "0.01", "--repetitions", "2", "--json")
    assert done.returncode == 0, done.stderr
    figures = {(row["figure"], row["mode"]): row for row in json.loads(done.stdout)["figures"]}
    assert figures["fp32", ""]["used"] == "measured" and figures["int8", ""]["measured"]
    found = read_peaks(tmp_path / "boards/peaks/local.toml")
    best = {one.datatype: one.ops_per_s for one in found.peaks if one.threads == 1}
    assert all(best[name] > 1e7 for name in ("fp32", "fp64", "int8"))
    assert {one.kernel for one in found.bandwidths} == {"read", "copy", "triad"} and found.machine_id
    assert all(one.bytes_per_s > 1e7 and one.array_bytes >= 1 << 26 for one in found.bandwidths)


@pytest.mark.nightly  # the firmware below takes the same way
def test_an_emulated_board_runs_the_kernels_and_nothing_is_written(tmp_path: Path) -> None:
    needs_toolchain("emx")
    if shutil.which("qemu-aarch64-static") is None:
        pytest.skip("qemu-aarch64-static is not installed: Debian's package qemu-user-static")
    (tmp_path / "bench.toml").write_text("")
    done = bench(tmp_path, "aarch64", "--json")
    assert done.returncode == 3 and "its times say nothing of hardware" in done.stderr, done.stderr
    assert set(json.loads(done.stdout)["kernels"]) == {"fp32", "fp64", "int8", "read", "copy", "triad"}
    assert not (tmp_path / "boards").exists()


def test_a_microcontroller_counts_instructions(tmp_path: Path) -> None:
    needs_toolchain("emx", "unicorn")
    (tmp_path / "bench.toml").write_text("")
    done = bench(tmp_path, "unicorn-m3", "--json")
    assert done.returncode == 3, done.stderr
    kernels = json.loads(done.stdout)["kernels"]
    assert kernels["fp32"]["instructions"] > kernels["int8"]["instructions"] > 0  # it has no floating-point hardware


@pytest.mark.parametrize(
    ("arguments", "message"), [("moon", "unknown board 'moon'"), ("--repetitions 0", "must be above 0")]
)
def test_what_cannot_be_measured_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["board", "peaks", *arguments.split()]) == 2
    assert message in capsys.readouterr().err


class ClockedBoard:
    """A board whose own clock says 2 ns for every operation and byte, and 1000 ns for each job."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def call(self, adapter: str, operation: str, meta: Mapping[str, Any], **more: Any) -> Answer:
        assert (adapter, operation) == ("microkernels", "run")
        kernel, steps, _, parts = more["arrays"]["in:job"][0]
        assert parts == 1
        amount = 0 if kernel == KERNELS["fp16"] else 24 * int(steps)
        self.steps.append(int(steps))
        counters = {"device_ns": [2 * amount + 1000]}
        return Answer({"counters": counters}, {"out0": np.array([[amount, 1, 4096, 0]])}, {}, {}, 0, "")


def test_a_board_with_a_clock_is_timed_by_it() -> None:
    board = ClockedBoard()
    program = Program(cast(LeasedAgent, board), {})
    found = program.counted("fp32", KERNELS["fp32"], 0.01, 3, timed=True)
    assert found["best"] == pytest.approx(5e8, rel=1e-3) and found["repetitions"] == 3
    assert 0.5 < board.steps[-1] * 24 * 2e-9 / 0.01 < 2  # a repetition takes about as long as it was asked to
    assert program.counted("fp16", KERNELS["fp16"], 0.01, 3, timed=True) == {}


def test_figures_of_another_machine_are_not_used(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "local.toml").write_text(peaks_text(PEAKS))
    (folder / "pi.toml").write_text(peaks_text(msgspec.structs.replace(PEAKS, board="pi")))
    assert list(measured_peaks(tmp_path)) == ["pi"]
    (folder / "local.toml").write_text(peaks_text(msgspec.structs.replace(PEAKS, machine_id=machine_id())))
    assert set(measured_peaks(tmp_path)) == {"local", "pi"}
