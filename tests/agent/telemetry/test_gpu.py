"""GPUs are read through NVML by ctypes: here from a small library in C that answers what a file says."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from bench_plugin.agent import telemetry
from bench_plugin.agent.telemetry.gpu import Gpus
from tests.agent.telemetry.sensors import PID

ALL = {
    "init": "0 0 0", "count": "0 1 0", "use": "0 87 40", "memory": "0 3000000000 150000000000", "temperature": "0 41 0",
    "clock": "0 1980 0", "power": "0 345600 0",
}  # fmt: skip


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (package gcc) for a library that answers like NVML")
    found = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    source = Path(__file__).with_name("nvml.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(found), str(source)], check=True)
    return str(found)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "answers"
    monkeypatch.setenv("NVML_ANSWERS", str(path))
    answer(path)
    return path


def answer(path: Path, **changed: str) -> None:
    partial = path.with_suffix(".partial")
    lines = {name: text for name, text in {**ALL, **changed}.items() if text}
    partial.write_text("".join(f"{name} {text}\n" for name, text in lines.items()))
    partial.replace(path)


def test_a_gpu_has_use_memory_temperature_clock_and_power_in_their_units(library: str, answers: Path) -> None:
    reader = Gpus(library)
    assert reader.read(0.0) == {
        "gpu0.use": 87.0, "gpu0.memory": 3e9, "gpu0.temperature": 41.0, "gpu0.clock": 1.98e9, "gpu0.power": 345.6,
    }  # fmt: skip
    assert [channel.unit for channel in reader.channels.values()] == ["%", "B", "degC", "Hz", "W"]
    assert {channel.place for channel in reader.channels.values()} == {"Card 1"}


def test_every_gpu_has_series_of_its_own(library: str, answers: Path) -> None:
    answer(answers, count="0 2 0")
    channels = Gpus(library).channels
    assert len(channels) == 10 and channels["gpu1.use"].place == "Card 2"


def test_what_a_gpu_does_not_support_is_absent_and_not_zero(library: str, answers: Path) -> None:
    answer(answers, use="3 0 0", power="")
    assert list(Gpus(library).read(0.0)) == ["gpu0.memory", "gpu0.temperature", "gpu0.clock"]


def test_a_gpu_that_is_lost_ends_its_series_with_the_words_of_the_driver(library: str, answers: Path) -> None:
    reader = Gpus(library)
    answer(answers, use="15 0 0")
    assert list(reader.read(0.0)) == ["gpu0.memory", "gpu0.temperature", "gpu0.clock", "gpu0.power"]
    assert reader.ended == {"gpu0.use": "nvmlDeviceGetUtilizationRates: GPU is lost"}


@pytest.mark.parametrize("changed", [{"init": "9 0 0"}, {"count": "0 0 0"}, {"count": "9 0 0"}])
def test_a_driver_without_a_gpu_has_no_series(library: str, answers: Path, changed: dict[str, str]) -> None:
    answer(answers, **changed)
    assert dict(Gpus(library).channels) == {}


def test_a_machine_without_the_library_has_no_series(tmp_path: Path) -> None:
    assert dict(Gpus("libnvidia-ml-is-not-here.so.1").channels) == {}
    (tmp_path / "broken.so").write_text("no library")
    assert dict(Gpus(str(tmp_path / "broken.so")).channels) == {}


def test_a_library_of_that_name_that_is_not_nvml_has_no_series() -> None:
    assert dict(Gpus("libc.so.6").channels) == {}


def test_series_of_a_gpu_are_recorded_beside_those_of_the_process(tmp_path: Path, library: str, answers: Path) -> None:
    with telemetry.sampling(100, root=str(tmp_path / "none"), pid=PID, nvml=library) as series:
        time.sleep(0.4)
        answer(answers, use="0 3 1")
        time.sleep(0.4)
    use = telemetry.about(series)["series"]["gpu0.use"]
    assert (use["min"], use["max"], use["unit"], use["source"]) == (3.0, 87.0, "%", "nvmlDeviceGetUtilizationRates")
