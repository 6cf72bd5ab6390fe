"""``bench board peaks``: microkernels on this machine, on emulated boards, and the file that predictions use."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench_plugin.characterise.prediction.roofs import modes_of
from bench_plugin.cli.main import main
from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.hardware.peaks_file import (
    MeasuredBandwidth,
    MeasuredPeak,
    MeasuredPeaks,
    peaks_text,
    read_peaks,
)
from bench_plugin.reach.environments.toolchains import Toolchains

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
    assert best["fp32"] > best["fp64"] > 1e7  # a vector holds twice as many numbers of half the size
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
