"""Every reader of sensors gives the values of real files in their units; what is missing is absent, never zero."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench_plugin.agent.telemetry.clock import clocks
from bench_plugin.agent.telemetry.cpu import TICKS, CoreTime, TreeTime
from bench_plugin.agent.telemetry.memory import PAGE, Proportional, Resident
from bench_plugin.agent.telemetry.power import Rails, Rapl, meters, spent
from bench_plugin.agent.telemetry.processes import Tree, cores_of, numbers_of
from bench_plugin.agent.telemetry.sampler import Request, readers
from bench_plugin.agent.telemetry.temperature import temperatures
from tests.agent.telemetry.sensors import PID, cores, process, write

HWMON = "sys/class/hwmon/hwmon2"
RAPL = "sys/class/powercap/intel-rapl:0"
ZONE = "sys/class/thermal/thermal_zone0"


def test_processor_time_of_the_tree_is_in_percent_of_one_core(tmp_path: Path) -> None:
    """A child that starts later counts from its start; its time stays when it ends and its parent waited for it."""
    process(tmp_path, ticks=10)
    reader = TreeTime(str(tmp_path), Tree(str(tmp_path), PID), 0.0)
    assert reader.read(0.0) == {}

    process(tmp_path, ticks=10 + TICKS, children="101")
    process(tmp_path, 101, parent=PID, ticks=TICKS // 2)
    assert reader.read(1.0) == {"cpu": 150.0}

    shutil.rmtree(tmp_path / "proc/101")
    process(tmp_path, ticks=10 + TICKS, reaped=TICKS // 2)
    assert reader.read(2.0) == {"cpu": 0.0}


def test_a_process_that_is_gone_ends_its_series(tmp_path: Path) -> None:
    process(tmp_path, pages=1, pss=1)
    tree = Tree(str(tmp_path), PID)
    found = [
        TreeTime(str(tmp_path), tree, 0.0),
        Resident(str(tmp_path), tree, 0.0),
        Proportional(str(tmp_path), tree, 0.0),
    ]
    shutil.rmtree(tmp_path / "proc" / str(PID))
    assert [reader.read(1.0) for reader in found] == [{}, {}, {}]
    assert [dict(reader.ended) for reader in found] == [
        {name: "the process is gone"} for name in ("cpu", "memory.rss", "memory.pss")
    ]


def test_processes_are_found_by_their_parents_where_the_kernel_lists_no_children(tmp_path: Path) -> None:
    process(tmp_path, children=None, pages=1)
    process(tmp_path, 101, parent=PID, children=None, pages=2)
    process(tmp_path, 102, parent=101, children=None, pages=4)
    process(tmp_path, 103, parent=1, children=None, pages=8)
    reader = Resident(str(tmp_path), Tree(str(tmp_path), PID, without=102), 0.0)
    assert reader.read(2.0) == {"memory.rss": 3.0 * PAGE}


def test_cores_are_in_percent_of_the_time_and_only_those_of_the_process(tmp_path: Path) -> None:
    process(tmp_path, cores="0,2")
    cores(tmp_path, (0, 100), (0, 100), (50, 50))
    reader = CoreTime(str(tmp_path), PID, 0.0)
    cores(tmp_path, (25, 175), (90, 100), (150, 50))
    assert reader.read(1.0) == {"cpu.core0": 25.0, "cpu.core2": 100.0}


def test_a_core_that_is_taken_offline_ends_its_series(tmp_path: Path) -> None:
    process(tmp_path)
    cores(tmp_path, (0, 100), (0, 100))
    reader = CoreTime(str(tmp_path), PID, 0.0)
    cores(tmp_path, (100, 100))
    assert reader.read(1.0) == {"cpu.core0": 100.0}
    assert set(reader.ended) == {"cpu.core1"}
    assert "taken offline" in reader.ended["cpu.core1"]


def test_memory_is_that_of_the_whole_tree_in_bytes(tmp_path: Path) -> None:
    process(tmp_path, children="101", pages=3, pss=10)
    process(tmp_path, 101, parent=PID, pages=4, pss=5)
    tree = Tree(str(tmp_path), PID)
    assert Resident(str(tmp_path), tree, 0.0).read(1.0) == {"memory.rss": 7.0 * PAGE}
    assert Proportional(str(tmp_path), tree, 0.0).read(1.0) == {"memory.pss": 15 * 1024.0}


def test_temperatures_are_in_degrees_and_their_place_is_the_name_of_the_sensor(tmp_path: Path) -> None:
    write(tmp_path, {
        f"{ZONE}/temp": "45678", f"{ZONE}/type": "cpu-thermal", f"{HWMON}/name": "coretemp",
        f"{HWMON}/temp1_input": "-5000", f"{HWMON}/temp1_label": "Package id 0",
    })  # fmt: skip
    reader = temperatures(str(tmp_path))
    assert reader.read(0.0) == pytest.approx({"temperature.thermal_zone0": 45.678, "temperature.hwmon2.temp1": -5.0})
    assert {channel.place for channel in reader.channels.values()} == {"cpu-thermal", "coretemp Package id 0"}
    assert {channel.unit for channel in reader.channels.values()} == {"degC"}


def test_a_sensor_that_vanishes_ends_its_series_and_says_which_file(tmp_path: Path) -> None:
    write(tmp_path, {f"{ZONE}/temp": "40000", f"{HWMON}/temp1_input": "30000"})
    reader = temperatures(str(tmp_path))
    (tmp_path / ZONE / "temp").unlink()
    assert reader.read(0.0) == {"temperature.hwmon2.temp1": 30.0}
    assert reader.ended == {"temperature.thermal_zone0": f"{tmp_path}/{ZONE}/temp: No such file or directory"}
    write(tmp_path, {f"{ZONE}/temp": "40000"})
    assert reader.read(1.0) == {"temperature.hwmon2.temp1": 30.0}, "a series that ended does not go on with a gap"


def test_a_sensor_that_writes_no_number_is_absent_and_ends_where_it_begins_to(tmp_path: Path) -> None:
    write(tmp_path, {f"{ZONE}/temp": "N/A", f"{HWMON}/temp1_input": "30000"})
    reader = temperatures(str(tmp_path))
    assert list(reader.channels) == ["temperature.hwmon2.temp1"]
    write(tmp_path, {f"{HWMON}/temp1_input": "fault"})
    assert reader.read(0.0) == {}
    assert "'fault' is not a number" in reader.ended["temperature.hwmon2.temp1"]


def test_clocks_are_those_of_cpufreq_in_hertz(tmp_path: Path) -> None:
    process(tmp_path, cores="1")
    frequency = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq"
    write(tmp_path, {frequency.format(0): "600000", frequency.format(1): "1500000"})
    assert clocks(str(tmp_path), PID).read(0.0) == {"clock.core1": 1.5e9}


def test_clocks_are_those_of_cpuinfo_where_there_is_no_cpufreq(tmp_path: Path) -> None:
    process(tmp_path)
    write(tmp_path, {"proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 2600.5\n\nprocessor\t: 1\ncpu MHz\t\t: 800"})
    reader = clocks(str(tmp_path), PID)
    assert reader.read(0.0) == {"clock.core0": 2600.5e6, "clock.core1": 800e6}
    write(tmp_path, {"proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 2600.5"})
    assert reader.read(1.0) == {"clock.core0": 2600.5e6}
    assert list(reader.ended) == ["clock.core1"]


def test_an_arm_board_without_cpufreq_has_no_clock(tmp_path: Path) -> None:
    process(tmp_path)
    write(tmp_path, {"proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 108.00"})
    assert dict(clocks(str(tmp_path), PID).channels) == {}


def test_power_of_hwmon_has_the_place_rate_and_accuracy_that_its_driver_tells(tmp_path: Path) -> None:
    write(tmp_path, {
        f"{HWMON}/name": "ina219", f"{HWMON}/power1_input": "5250000", f"{HWMON}/power1_label": "VDD_IN",
        f"{HWMON}/power1_accuracy": "1.5%", f"{HWMON}/update_interval": "10",
    })  # fmt: skip
    reader = meters(str(tmp_path))
    assert reader.read(0.0) == {"power.hwmon2.power1": 5.25}
    channel = reader.channels["power.hwmon2.power1"]
    assert (channel.unit, channel.place, channel.hz, channel.accuracy) == ("W", "ina219 VDD_IN", 100.0, "1.5%")


def test_power_of_iio_is_in_milliwatts(tmp_path: Path) -> None:
    device = "sys/bus/iio/devices/iio:device0"
    write(tmp_path, {f"{device}/in_power0_input": "4200", f"{device}/rail_name_0": "POM_5V_IN"})
    reader = meters(str(tmp_path))
    assert reader.read(0.0) == {"power.iio0.power0": 4.2}
    assert reader.channels["power.iio0.power0"].place == "POM_5V_IN"


def test_the_meter_of_a_board_description_is_named_so_and_counted_once(tmp_path: Path) -> None:
    write(tmp_path, {f"{HWMON}/power1_input": "2000000"})
    assert meters(str(tmp_path), f"/{HWMON}/power1_input").read(0.0) == {"power.board": 2.0}
    assert meters(str(tmp_path), f"/{HWMON}/power9_input").read(0.0) == {"power.hwmon2.power1": 2.0}


def test_the_meter_of_a_board_description_may_be_an_energy_counter(tmp_path: Path) -> None:
    other = "sys/devices/virtual/powercap/mine"
    write(tmp_path, {f"{RAPL}/energy_uj": "1000000", f"{other}/energy_uj": "5000000"})
    inside, outside = (Rapl(str(tmp_path), 0.0, f"/{folder}/energy_uj") for folder in (RAPL, other))
    write(tmp_path, {f"{RAPL}/energy_uj": "3000000", f"{other}/energy_uj": "6000000"})
    assert inside.read(1.0) == {"power.board": 2.0}
    assert outside.read(1.0) == {"power.intel-rapl.0": 2.0, "power.board": 1.0}
    assert dict(meters(str(tmp_path), f"/{RAPL}/energy_uj").channels) == {}


def test_power_of_a_rail_is_voltage_times_current(tmp_path: Path) -> None:
    write(tmp_path, {f"{HWMON}/in1_input": "5000", f"{HWMON}/curr1_input": "1500", f"{HWMON}/in1_label": "VDD_CPU"})
    reader = Rails(str(tmp_path))
    assert reader.read(0.0) == {"power.hwmon2.curr1": 7.5}
    assert reader.channels["power.hwmon2.curr1"].place == "VDD_CPU"
    (tmp_path / HWMON / "in1_input").unlink()
    assert reader.read(1.0) == {}
    assert "in1_input" in reader.ended["power.hwmon2.curr1"]


def test_a_chip_that_gives_power_has_no_rails_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, {f"{HWMON}/{name}": "1" for name in ("in1_input", "curr1_input", "power1_input")})
    assert dict(Rails(str(tmp_path)).channels) == {}


def test_power_of_rapl_goes_on_where_its_counter_wraps_around(tmp_path: Path) -> None:
    write(
        tmp_path,
        {f"{RAPL}/energy_uj": "90000000", f"{RAPL}/max_energy_range_uj": "100000000", f"{RAPL}/name": "package-0"},
    )
    reader = Rapl(str(tmp_path), 0.0)
    assert reader.channels["power.intel-rapl.0"].place == "package-0"
    assert reader.read(0.0) == {}
    write(tmp_path, {f"{RAPL}/energy_uj": "95000000"})
    assert reader.read(0.5) == {"power.intel-rapl.0": 10.0}
    write(tmp_path, {f"{RAPL}/energy_uj": "5000000"})
    assert reader.read(1.0) == {"power.intel-rapl.0": 20.0}


def test_a_counter_that_goes_backwards_without_a_known_range_gives_no_value(tmp_path: Path) -> None:
    assert spent(90.0, 10.0, 0.0) is None
    write(tmp_path, {f"{RAPL}/energy_uj": "90000000"})
    reader = Rapl(str(tmp_path), 0.0)
    write(tmp_path, {f"{RAPL}/energy_uj": "1000000"})
    assert reader.read(1.0) == {}
    write(tmp_path, {f"{RAPL}/energy_uj": "3000000"})
    assert reader.read(2.0) == {"power.intel-rapl.0": 2.0}


def test_counters_that_cannot_be_read_are_absent(tmp_path: Path) -> None:
    """As those that only root may read; a folder in their place cannot be read by root either."""
    (tmp_path / RAPL / "energy_uj").mkdir(parents=True)
    assert dict(Rapl(str(tmp_path), 0.0).channels) == {}


def test_a_machine_without_any_sensor_has_no_series(tmp_path: Path) -> None:
    """Missing is absent: no reader makes up a zero."""
    assert readers(Request(str(tmp_path), PID, nvml=str(tmp_path / "libnvidia-ml.so.1")), 0.0) == []


def test_the_cores_of_a_process(tmp_path: Path) -> None:
    process(tmp_path, cores="0-2,7")
    assert cores_of(str(tmp_path), PID) == {0, 1, 2, 7}
    assert cores_of(str(tmp_path), 999) == set()
    assert numbers_of("") == numbers_of("x-y") == set()
