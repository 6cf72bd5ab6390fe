"""The state of a machine is what its files say; what they do not say is absent."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.agent.telemetry.machine import hot, state, subnormals
from tests.agent.telemetry.sensors import write

CPU = "sys/devices/system/cpu"
PROCESS = {"architecture", "system", "kernel", "libc", "cores", "ftz", "daz", "nice", "python"}  # not from files


def files(root: Path, texts: dict[str, str]) -> dict[str, Any]:
    """What ``texts`` add to the state of a machine without files."""
    write(root, texts)
    return {key: value for key, value in state(str(root)).items() if key not in PROCESS}


def test_a_machine_that_says_nothing_has_only_what_the_process_knows(tmp_path: Path) -> None:
    found = state(str(tmp_path))
    assert set(found) == PROCESS
    assert found["kernel"] == platform.release() and found["cores"] == sorted(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            {f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave", f"{CPU}/cpu1/cpufreq/scaling_governor": "performance",
             f"{CPU}/cpu0/cpufreq/scaling_driver": "intel_pstate"},
            {"governor": ["performance", "powersave"], "cpufreq_driver": ["intel_pstate"]},
        ),
        (
            {f"{CPU}/cpu0/cpufreq/scaling_min_freq": "600000", f"{CPU}/cpu0/cpufreq/scaling_max_freq": "1500000",
             f"{CPU}/cpu4/cpufreq/scaling_min_freq": "800000", f"{CPU}/cpu4/cpufreq/scaling_max_freq": "2400000"},
            {"clock_limits_hz": [600_000_000, 2_400_000_000]},
        ),
        ({f"{CPU}/cpufreq/boost": "0"}, {"turbo": False}),
        ({f"{CPU}/intel_pstate/no_turbo": "0"}, {"turbo": True}),
        ({f"{CPU}/smt/active": "1"}, {"smt": True}),
        ({f"{CPU}/online": "0-2", f"{CPU}/isolated": "2"}, {"online": [0, 1, 2], "isolated": [2]}),
        ({f"{CPU}/isolated": ""}, {}),
        (
            {"sys/devices/system/node/node0/cpulist": "0-1", "sys/devices/system/node/node1/cpulist": "2,3",
             "proc/sys/kernel/numa_balancing": "1"},
            {"numa": {"0": [0, 1], "1": [2, 3]}, "numa_balancing": True},
        ),
        ({"proc/loadavg": "0.50 1.25 2.00 3/100 4567", "proc/uptime": "12.5 20.0"},
         {"load": [0.5, 1.25, 2.0], "uptime_seconds": 12.5}),
        (
            {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3",
             f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "4",
             "sys/class/thermal/cooling_device0/stats/total_trans": "9"},
            {"throttles": {"core_throttle_count": 7, "cooling_device0": 9}},
        ),
        (
            {"sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_name": "Standard PC",
             "sys/class/dmi/id/bios_vendor": "SeaBIOS", "sys/class/dmi/id/bios_version": "1.16"},
            {"product": "QEMU Standard PC", "firmware": "SeaBIOS 1.16", "hypervisor": "qemu"},
        ),
        ({"proc/cpuinfo": "processor: 0\nmodel name\t: Fast CPU\nflags\t: fpu hypervisor sse"},
         {"cpu": "Fast CPU", "hypervisor": "yes"}),
        ({"proc/cpuinfo": "processor: 0\nmodel name\t: Fast CPU\nflags\t: fpu sse"}, {"cpu": "Fast CPU"}),
        ({"sys/hypervisor/type": "xen"}, {"hypervisor": "xen"}),
        ({"proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0", "proc/meminfo": "MemTotal:  2048 kB"},
         {"product": "Raspberry Pi 4 Model B Rev 1.4", "memory_bytes": 2 * 2**20}),
        ({"proc/self/status": "Name: x\nThreads:\t4", "proc/self/maps": "7f00 r-xp /usr/lib/libjemalloc.so.2"},
         {"threads": 4, "allocator": "jemalloc"}),
        ({"proc/self/maps": "7f00 r-xp /usr/lib/libc.so.6"}, {"allocator": "the C library's"}),
        ({"sys/fs/cgroup/cpu.max": "150000 100000"}, {"quota_cores": 1.5}),
        ({"sys/fs/cgroup/cpu.max": "max 100000"}, {}),
    ],
)  # fmt: skip
def test_what_files_say(tmp_path: Path, texts: dict[str, str], expected: dict[str, Any]) -> None:
    assert files(tmp_path, texts) == expected


def test_counters_of_throttling_are_absent_where_nothing_counts(tmp_path: Path) -> None:
    assert hot(str(tmp_path)) == {}


FLUSHED = """
import ctypes, sys
from bench_plugin.agent.telemetry.machine import subnormals
library = ctypes.CDLL(sys.argv[1])
before = subnormals()
library.flush()
print(before, subnormals())
"""
FLUSH = "#include <xmmintrin.h>\nvoid flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"


def test_subnormals_are_kept_by_a_plain_thread() -> None:
    assert subnormals() == {"ftz": False, "daz": False}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the flags of SSE")
def test_a_thread_that_flushes_subnormals_is_told(tmp_path: Path) -> None:
    """A library that sets the flags of the calling thread, as some runtimes do when they are loaded."""
    if subprocess.run(["which", "gcc"], capture_output=True, check=False).returncode:
        pytest.skip("no C compiler (package gcc) for a library that sets the flags")
    source, library = tmp_path / "flush.c", tmp_path / "flush.so"
    source.write_text(FLUSH)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    command = [sys.executable, "-c", FLUSHED, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'ftz': False, 'daz': False} {'ftz': True, 'daz': True}"
