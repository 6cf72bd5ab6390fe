"""The state of the machine on which a time depends: what is set, and what is seen.

It is read on the machine that does the work: the host, or a board. A key that cannot be known there is absent.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
from typing import Any, Dict, Iterator, List, Tuple

from bench_plugin.agent.telemetry.processes import numbers_of
from bench_plugin.agent.telemetry.reader import numbered, said

CPUS = "sys/devices/system/cpu"
ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc", "snmalloc", "hoard")
VIRTUAL = ("kvm", "vmware", "virtualbox", "xen", "qemu", "bochs", "hyper-v", "virtual machine", "amazon ec2", "google")
SMALLEST = 2.2250738585072014e-308  # normal float64


def state(root: str = "/") -> Dict[str, Any]:
    """The state of the machine as plain data; docs/results.md, "The machine", lists the keys.

    Of this process: the cores that it may use, its threads, its allocator, and whether the calling thread computes with
    subnormal numbers. ``root`` is the folder that holds ``proc`` and ``sys``.
    """
    found: Dict[str, Any] = {
        "architecture": platform.machine(), "system": platform.system(), "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()), "cores": sorted(os.sched_getaffinity(0)), **subnormals(),
    }  # fmt: skip
    for part in (_processor, _cpufreq, _topology, _load, _firmware, _process, _thermal):
        found.update(part(root))
    return found


def hot(root: str = "/") -> Dict[str, int]:
    """How often the machine has throttled since its start, by the name of the counter; empty where it does not count.

    x86 counts events by core and package, and NVIDIA's Jetson and other boards have counters of cooling devices.
    """
    found: Dict[str, int] = {}
    for _, cpu in numbered(os.path.join(root, CPUS), "cpu"):
        for name in ("core_throttle_count", "package_throttle_count"):
            value = said(os.path.join(cpu, "thermal_throttle", name))
            if value.isdigit():
                found[name] = found.get(name, 0) + int(value)
    for number, device in numbered(os.path.join(root, "sys/class/thermal"), "cooling_device"):
        value = said(os.path.join(device, "stats", "total_trans"))
        if value.isdigit():
            found["cooling_device%d" % number] = int(value)
    return found


def subnormals() -> Dict[str, bool]:
    """``ftz`` and ``daz``: whether the calling thread replaces subnormal results, and operands, by 0.

    They are flags of a thread; libraries set them for their own threads too, which this does not see.
    """
    half = struct.unpack("<d", struct.pack("<d", 0.5))[0]  # not a constant, which the compiler would fold
    tiny = struct.unpack("<d", b"\1" + bytes(7))[0]
    return {"ftz": SMALLEST * half == 0.0, "daz": tiny == 0.0}


def _processor(root: str) -> Iterator[Tuple[str, Any]]:
    for line in said(os.path.join(root, "proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware"):
            yield "cpu", value.strip()
            break
    for line in said(os.path.join(root, "proc/meminfo")).splitlines():
        if line.startswith("MemTotal:"):
            yield "memory_bytes", int(line.split()[1]) * 1024


def _cpufreq(root: str) -> Iterator[Tuple[str, Any]]:
    """Governors, limits of the clock, and turbo."""
    folders = [os.path.join(cpu, "cpufreq") for _, cpu in numbered(os.path.join(root, CPUS), "cpu")]
    for key, name in (("governor", "scaling_governor"), ("cpufreq_driver", "scaling_driver")):
        values = sorted({said(os.path.join(folder, name)) for folder in folders} - {""})
        if values:
            yield key, values
    lowest = [said(os.path.join(folder, "scaling_min_freq")) for folder in folders]
    highest = [said(os.path.join(folder, "scaling_max_freq")) for folder in folders]
    if any(map(str.isdigit, lowest)) and any(map(str.isdigit, highest)):
        least, most = min(_digits(lowest)), max(_digits(highest))
        yield "clock_limits_hz", [least * 1000, most * 1000]
    boost = said(os.path.join(root, CPUS, "cpufreq", "boost"))
    without = said(os.path.join(root, CPUS, "intel_pstate", "no_turbo"))
    if boost in ("0", "1"):
        yield "turbo", boost == "1"
    elif without in ("0", "1"):
        yield "turbo", without == "0"


def _topology(root: str) -> Iterator[Tuple[str, Any]]:
    """Simultaneous multithreading, the cores that are on, isolated cores, and NUMA nodes."""
    active = said(os.path.join(root, CPUS, "smt", "active"))
    if active in ("0", "1"):
        yield "smt", active == "1"
    for key, name in (("online", "online"), ("isolated", "isolated")):
        value = said(os.path.join(root, CPUS, name))
        if value:
            yield key, sorted(numbers_of(value))
    nodes = numbered(os.path.join(root, "sys/devices/system/node"), "node")
    if nodes:
        yield "numa", {str(number): sorted(numbers_of(said(os.path.join(node, "cpulist")))) for number, node in nodes}
        balancing = said(os.path.join(root, "proc/sys/kernel/numa_balancing"))
        if balancing.isdigit():
            yield "numa_balancing", balancing != "0"


def _load(root: str) -> Iterator[Tuple[str, Any]]:
    """The load before: means over 1, 5 and 15 minutes, and the seconds since the start."""
    fields = said(os.path.join(root, "proc/loadavg")).split()
    if len(fields) >= 3:
        yield "load", [float(field) for field in fields[:3]]
    up = said(os.path.join(root, "proc/uptime")).split()
    if up:
        yield "uptime_seconds", float(up[0])


def _firmware(root: str) -> Iterator[Tuple[str, Any]]:
    """The product, its firmware, and the hypervisor below the system."""
    dmi = os.path.join(root, "sys/class/dmi/id")
    tree = said(os.path.join(root, "proc/device-tree/model")).strip("\0")
    product = " ".join(
        word for word in (said(os.path.join(dmi, "sys_vendor")), said(os.path.join(dmi, "product_name"))) if word
    )
    if product or tree:
        yield "product", product or tree
    firmware = " ".join(
        word for word in (said(os.path.join(dmi, "bios_vendor")), said(os.path.join(dmi, "bios_version"))) if word
    )
    if firmware:
        yield "firmware", firmware
    kind = said(os.path.join(root, "sys/hypervisor/type"))
    flags = [line.split() for line in said(os.path.join(root, "proc/cpuinfo")).splitlines() if line.startswith("flags")]
    named = next((name for name in VIRTUAL if name in product.lower()), "")
    if kind or named or (flags and "hypervisor" in flags[0]):
        yield "hypervisor", kind or named or "yes"


def _process(root: str) -> Iterator[Tuple[str, Any]]:
    """Threads of this process, its scheduling, the allocator that it loaded, and its control group's quota."""
    status = said(os.path.join(root, "proc/self/status")).splitlines()
    threads = [line.split()[1] for line in status if line.startswith("Threads:")]
    if threads:
        yield "threads", int(threads[0])
    yield "nice", os.getpriority(os.PRIO_PROCESS, 0)
    loaded = said(os.path.join(root, "proc/self/maps")).lower()
    if loaded:
        other = [name for name in ALLOCATORS if "lib%s" % name in loaded]
        yield "allocator", other[0] if other else "the C library's"
    quota = said(os.path.join(root, "sys/fs/cgroup/cpu.max")).split()
    if len(quota) == 2 and quota[0].isdigit():
        yield "quota_cores", int(quota[0]) / int(quota[1])
    yield "python", "%s %s" % (sys.implementation.name, platform.python_version())


def _thermal(root: str) -> Iterator[Tuple[str, Any]]:
    counters = hot(root)
    if counters:
        yield "throttles", counters


def _digits(values: List[str]) -> List[int]:
    return [int(value) for value in values if value.isdigit()]
