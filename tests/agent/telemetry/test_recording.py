"""Series are recorded by a real sampler process, whatever happens to its sensors, to itself, or to the block."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent import telemetry
from bench_plugin.agent.arrays import to_numpy
from bench_plugin.agent.telemetry import recording
from bench_plugin.agent.telemetry.recording import summary
from bench_plugin.reach.processes.zipapp import build_agent
from tests.agent.telemetry.sensors import PID, process, write

ZONE = "sys/class/thermal/thermal_zone0"
METER = "sys/class/hwmon/hwmon0/power1_input"
NO_GPU = "libnvidia-ml-is-not-here.so.1"


def wait_for(done: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def samplers() -> list[int]:
    """The sampler processes below this one."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    return [int(pid) for pid in children if b"telemetry.sampler" in Path(f"/proc/{pid}/cmdline").read_bytes()]


OWN_SERIES = """
import json, os, time
from pathlib import Path
from bench_plugin.agent import telemetry
from bench_plugin.agent.arrays import to_numpy

with telemetry.sampling(100, nvml="libnvidia-ml-is-not-here.so.1") as series:
    time.sleep(0.5)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
blobs = telemetry.arrays(series)
arrays = [to_numpy(blobs[name]) for name in ("series:memory.rss", "series:memory.rss.time")]
rows = [{"dtype": str(array.dtype), "values": array.tolist()} for array in arrays]
print(json.dumps([pages * os.sysconf("SC_PAGE_SIZE"), *rows]))
"""


def test_series_of_this_process_come_as_arrays_with_their_times() -> None:
    """The real /proc: memory at every tick, of the process that asks and not of the sampler.

    The process is a fresh one: a worker of pytest may have agents of other tests below it, which count as its memory.
    """
    done = subprocess.run([sys.executable, "-c", OWN_SERIES], capture_output=True, check=True, timeout=60)
    own, memory, times = json.loads(done.stdout)
    assert memory["dtype"] == times["dtype"] == "float64"
    assert len(memory["values"]) == len(times["values"]) >= 10
    assert np.all(np.diff(times["values"]) > 0) and times["values"][0] >= 0
    assert memory["values"][-1] == pytest.approx(own, rel=0.02)


def test_what_is_said_of_series_has_units_statistics_and_the_cost_of_the_sampler(tmp_path: Path) -> None:
    process(tmp_path, pages=2)
    write(tmp_path, {f"{ZONE}/temp": "45000", f"{ZONE}/type": "soc"})
    with telemetry.sampling(100, root=str(tmp_path), pid=PID, nvml=NO_GPU) as series:
        time.sleep(0.4)
        write(tmp_path, {f"{ZONE}/temp": "47000"})
        time.sleep(0.4)
    said: dict[str, Any] = telemetry.about(series)
    zone = said["series"]["temperature.thermal_zone0"]
    assert (zone["unit"], zone["place"], zone["min"], zone["max"]) == ("degC", "soc", 45.0, 47.0)
    assert zone["samples"] == len(to_numpy(telemetry.arrays(series)["series:temperature.thermal_zone0"]))
    assert zone["sd"] > 0 and 45 <= zone["median"] <= 47 and 45 < zone["mean"] < 47
    assert set(said["series"]) == {"temperature.thermal_zone0", "memory.rss", "cpu"}
    cost = said["sampler"]
    assert cost["hz"] == 100 and cost["ticks"] + cost["late"] >= 20
    assert 0 <= cost["share"] < 1 and 0 < cost["seconds_per_tick"] <= cost["longest_tick"] and cost["cores"]


def test_a_sensor_that_vanishes_in_the_middle_ends_its_series_and_says_so(tmp_path: Path) -> None:
    process(tmp_path, pages=2)
    write(tmp_path, {f"{ZONE}/temp": "45000"})
    with telemetry.sampling(100, root=str(tmp_path), pid=PID, nvml=NO_GPU) as series:
        time.sleep(0.4)
        (tmp_path / ZONE / "temp").unlink()
        time.sleep(0.4)
    zone = telemetry.about(series)["series"]["temperature.thermal_zone0"]
    assert zone["ended"]["why"] == f"{tmp_path}/{ZONE}/temp: No such file or directory"
    times = to_numpy(telemetry.arrays(series)["series:temperature.thermal_zone0.time"])
    assert 0 < times[-1] < zone["ended"]["at"]
    assert "ended" not in telemetry.about(series)["series"]["memory.rss"]


def test_a_sampler_that_dies_costs_its_series_and_not_the_block() -> None:
    done = False
    with telemetry.sampling(nvml=NO_GPU) as series:
        for pid in samplers():
            os.kill(pid, signal.SIGKILL)
        done = True
    assert done and telemetry.arrays(series) == {}
    assert telemetry.about(series)["sampler"]["failed"] == (
        "the sampler gave no report: it ended with status -9; its messages are in this log"
    )


def test_a_sampler_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with telemetry.sampling(nvml=NO_GPU) as series:
        pass
    failed = telemetry.about(series)["sampler"]["failed"]
    assert failed.startswith("the sampler did not start: ") and "/nowhere/python" in failed


def test_an_exception_of_the_block_ends_the_sampler_and_is_kept() -> None:
    with pytest.raises(ZeroDivisionError), telemetry.sampling(nvml=NO_GPU):
        assert samplers()
        1 / 0  # noqa: B018
    assert not samplers()


def test_the_sampler_of_an_agent_that_is_killed_ends_too(tmp_path: Path) -> None:
    """It runs from the agent's archive, as on a board, and ends without its parent's help."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from bench_plugin.agent import telemetry\n"
        "with telemetry.sampling(): print('ready', flush=True); time.sleep(60)"
    )
    agent = subprocess.Popen([sys.executable, "-I", "-c", code, str(build_agent(tmp_path))], stdout=subprocess.PIPE)
    assert agent.stdout is not None and agent.stdout.readline() == b"ready\n"
    children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
    assert len(children) == 1
    agent.kill()
    agent.wait()
    agent.stdout.close()
    wait_for(lambda: not Path(f"/proc/{children[0]}/exe").exists())


def test_phases_are_marked_and_rest_only_where_there_is_a_meter(tmp_path: Path) -> None:
    process(tmp_path, pages=2)
    with telemetry.sampling(root=str(tmp_path), pid=PID, nvml=NO_GPU) as series:
        series.rest("idle", 60.0)
        with series.phase("full"):
            time.sleep(0.05)
    (only,) = telemetry.about(series)["phases"]
    assert only["name"] == "full" and only["end"] - only["begin"] >= 0.05
    write(tmp_path, {METER: "5000000"})
    with telemetry.sampling(root=str(tmp_path), pid=PID, nvml=NO_GPU) as series:
        series.rest("idle", 0.05)
    assert [phase["name"] for phase in telemetry.about(series)["phases"]] == ["idle"]


def test_the_clock_that_was_seen_and_throttling_meanwhile_are_said(tmp_path: Path) -> None:
    process(tmp_path, pages=2)
    core = "sys/devices/system/cpu/cpu0"
    write(
        tmp_path, {f"{core}/cpufreq/scaling_cur_freq": "1500000", f"{core}/thermal_throttle/core_throttle_count": "7"}
    )
    with telemetry.sampling(root=str(tmp_path), pid=PID, nvml=NO_GPU) as series:
        time.sleep(0.4)
        write(tmp_path, {f"{core}/cpufreq/scaling_cur_freq": "600000"})
        write(tmp_path, {f"{core}/thermal_throttle/core_throttle_count": "9"})
        time.sleep(0.4)
    said = telemetry.about(series)
    assert said["machine"]["clock_seen_hz"] == [600e6, 1.5e9]
    assert said["machine"]["throttles"] == {"core_throttle_count": 7}
    assert said["throttled"] == {"core_throttle_count": 2}


def test_a_summary_of_nothing_has_no_mean() -> None:
    assert summary([]) == {"samples": 0}
    assert summary([2.0]) == {"samples": 1, "mean": 2.0, "median": 2.0, "min": 2.0, "max": 2.0}


def test_times_out_where_the_sampler_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "READY", 0.05)
    monkeypatch.setattr(recording, "START", "import time; time.sleep(60)")
    with telemetry.sampling(nvml=NO_GPU) as series:
        pass
    assert telemetry.about(series)["sampler"]["failed"] == "the sampler did not start: it printed nothing in 0.05 s"
