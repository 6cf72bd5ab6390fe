"""Microkernels built by the toolchain of C compilers, and run on this machine or on a board."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench_plugin.agent.link.identity import machine_id
from bench_plugin.cli.shared.board.check import runtime_of
from bench_plugin.cli.shared.output import note
from bench_plugin.domain.errors import BenchError
from bench_plugin.inventory.hardware.peaks_file import MeasuredBandwidth, MeasuredPeak, MeasuredPeaks
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.processes.leased_agent import AgentFailure, LeasedAgent, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

LOCAL = "local"
ADAPTER = "microkernels"
SOURCE, LIBRARY = "microkernels.c", "microkernels.so"
STREAMS = ("read", "copy", "triad")
KERNELS = {"fp32": 0, "fp64": 1, "fp16": 2, "int8": 3, "read": 5, "copy": 6, "triad": 7}
FILL = 4
LEAST_STREAM, MOST_STREAM = 1 << 26, 1 << 28  # bytes of an array: beyond the caches, within the memory of small boards
TIMES_CACHE = 4  # how many times the last cache an array is
SHARE_OF_RAM = 8  # of a microcontroller's RAM an array takes one part in so many
BUILDING, RUNNING = Limits(300.0, 0), Limits(600.0, 0)
JOB = {"name": "job", "dtype": "int32", "shape": [4]}
SAID = {"name": "said", "dtype": "int64", "shape": [4]}
MOST_STEPS = 400_000_000  # of a job: sums of products of bytes stay within 32 bits
FIRST_STEPS = 64  # of a program, whose speed is not known; enough for a sum to reach its end


class KernelWrong(BenchError):
    """A microkernel gave another result than follows from its operations."""


@dataclass(frozen=True)
class Emulated:
    """What an emulator ran: the kernels whose results are right, and ``instructions`` of each where it counts them."""

    text: str
    kernels: Mapping[str, Mapping[str, Any]]


def measured_on(workspace: Workspace, name: str, *, seconds: float, repetitions: int) -> MeasuredPeaks | Emulated:
    """The peaks of this machine or of a board; of an emulator only what it ran. Raises BenchError."""
    target = LOCAL if name == LOCAL else workspace.boards[name].board.target
    with _agents(workspace, name) as agents:
        if name == LOCAL:
            found = agents.by_library(dict(workspace.targets[LOCAL]), _stream_bytes(), seconds, repetitions)
            return replace_peaks(found, machine_id=machine_id(), architecture=platform.machine())
        reach = workspace.boards[name]
        described = {**workspace.targets[target], **workspace.targets.get(name, {}), "name": target}
        if reach.programs:
            return agents.by_program(described, seconds, repetitions, emulated=reach.board.emulated)
        found = agents.by_library(described, LEAST_STREAM, seconds, repetitions)
        if reach.board.emulated:
            text = f"board {name} is emulated: its times say nothing of hardware, so nothing is written"
            return Emulated(text, {one.datatype: {} for one in found.peaks})
        return replace_peaks(found, architecture=str(described.get("architecture", "")))


def replace_peaks(found: MeasuredPeaks, **changes: Any) -> MeasuredPeaks:
    """The same with other fields; ``dataclasses.replace`` of a record."""
    import msgspec

    return msgspec.structs.replace(found, **changes)


class Agents:
    """The agents that build and run the microkernels of one board."""

    def __init__(self, workspace: Workspace, pool: AgentPool, name: str) -> None:
        self._workspace = workspace
        self._pool = pool
        self._name = name
        self._source = workspace.catalog[ADAPTER].path.with_suffix(".c")

    def by_library(
        self, target: Mapping[str, Any], stream_bytes: int, seconds: float, repetitions: int
    ) -> MeasuredPeaks:
        """A library in an agent in Python, of one thread and of all. Raises AgentFailure."""
        meta = {"target": dict(target), "stream_bytes": stream_bytes, "program": False}
        peaks: list[MeasuredPeak] = []
        bandwidths: list[MeasuredBandwidth] = []
        with self._building() as builder:
            built = builder.call(ADAPTER, "build_kernels", meta, files={SOURCE: self._source}, limits=BUILDING)
            library = {LIBRARY: built.files[LIBRARY]}
            with self._running() as agent:
                machine = ""
                for threads in self._threads(agent):
                    asked = {"threads": threads, "seconds": seconds, "repetitions": repetitions}
                    said = agent.call(ADAPTER, "measure_kernels", asked, files=library, limits=RUNNING).meta
                    machine = str(said["machine"])
                    for kernel, one in said["kernels"].items():
                        if kernel in STREAMS:
                            bandwidths.append(
                                MeasuredBandwidth(
                                    kernel, threads, one["best"], one["median"], said["array_bytes"], one["repetitions"]
                                )
                            )
                        else:
                            peaks.append(MeasuredPeak(kernel, threads, one["best"], one["median"], one["repetitions"]))
        return MeasuredPeaks(
            self._name, time.strftime("%Y-%m-%d"), built.meta["compiler"], tuple(built.meta["flags"]), machine,
            peaks=tuple(peaks), bandwidths=tuple(bandwidths),
        )  # fmt: skip

    def by_program(
        self, target: Mapping[str, Any], seconds: float, repetitions: int, *, emulated: bool
    ) -> MeasuredPeaks | Emulated:
        """A program with the microkernels linked in, which counts its own nanoseconds. Raises AgentFailure."""
        ram = int(target.get("ram_bytes", 0))
        stream_bytes = (
            max(4096, ram // SHARE_OF_RAM // 4096 * 4096) if ram else LEAST_STREAM if not emulated else 1 << 20
        )
        meta = {"target": dict(target), "stream_bytes": stream_bytes, "program": True}
        with self._building() as builder:
            built = builder.call(ADAPTER, "build_kernels", meta, files={SOURCE: self._source}, limits=BUILDING)
            with self._running() as agent:
                program = _Program(agent, built.files)
                program.run(FILL, 1)
                kernels = {
                    name: counted
                    for name, kernel in KERNELS.items()
                    if (counted := program.counted(name, kernel, seconds, repetitions, timed=not emulated))
                }
        if emulated:
            text = f"board {self._name} is emulated: its kernels run and their results are right, but its times say "
            return Emulated(f"{text}nothing of hardware, so nothing is written", kernels)
        timed = {name: one for name, one in kernels.items() if "best" in one}
        if not timed:
            return Emulated(f"board {self._name} has no clock, so nothing can be measured on it", kernels)
        return MeasuredPeaks(
            self._name, time.strftime("%Y-%m-%d"), built.meta["compiler"], tuple(built.meta["flags"]),
            machine=str(target.get("title", "")), architecture=str(target.get("architecture", "")),
            peaks=tuple(
                MeasuredPeak(name, 1, one["best"], one["median"], one["repetitions"])
                for name, one in timed.items() if name not in STREAMS
            ),
            bandwidths=tuple(
                MeasuredBandwidth(name, 1, one["best"], one["median"], stream_bytes, one["repetitions"])
                for name, one in timed.items() if name in STREAMS
            ),
        )  # fmt: skip

    def _threads(self, agent: LeasedAgent) -> list[int]:
        """One thread, and as many as the machine has processors that can be used."""
        cpus = len(os.sched_getaffinity(0)) if self._name == LOCAL else _processors(agent)
        return sorted({1, cpus}, reverse=True)

    @contextmanager
    def _building(self) -> Iterator[LeasedAgent]:
        toolchain = self._workspace.catalog[ADAPTER].toolchain
        with self._pool.lease(toolchain, role="build") as agent:
            yield agent

    @contextmanager
    def _running(self) -> Iterator[LeasedAgent]:
        """An agent of the board, or one of this machine that has it alone."""
        if self._name == LOCAL:
            toolchain = self._workspace.catalog[ADAPTER].toolchain
            with self._pool.lease(toolchain, role="run", fresh=True, alone=True) as agent:
                yield agent
            return
        reach = self._workspace.boards[self._name]
        runtime = runtime_of(self._workspace, reach.board)
        taken = self._pool.boards.taken(self._name, programs=reach.programs)
        with taken, self._pool.lease(runtime, board=self._name) as agent:
            yield agent


class _Program:
    """A program on a board that does one job for each sample."""

    def __init__(self, agent: LeasedAgent, files: Mapping[str, Path]) -> None:
        self._agent = agent
        self._files = files

    def run(self, kernel: int, steps: int) -> tuple[int, Mapping[str, Any]]:
        """Operations or bytes of a job, and the counters of the call. Raises KernelWrong, AgentFailure."""
        job = np.array([[kernel, steps, 0, 1]], dtype=np.int32)
        meta = {"batched": False, "inputs": [JOB], "outputs": [SAID]}
        answer = self._agent.call(ADAPTER, "run", meta, arrays={"in:job": job}, files=self._files, limits=RUNNING)
        amount, right = (int(value) for value in answer.arrays["out0"].reshape(-1)[:2])
        if not right:
            raise KernelWrong(f"microkernel {kernel} computed a wrong result on the board")
        return amount, answer.meta["counters"]

    def counted(self, name: str, kernel: int, seconds: float, repetitions: int, *, timed: bool) -> dict[str, Any]:
        """The best and the median per second; without a clock the instructions of one operation or byte, if counted.

        Empty where the board has no such kernel.
        """
        steps = 1 if name in STREAMS else FIRST_STEPS
        amount, counters = self.run(kernel, steps)
        if not amount:
            return {}
        if not timed or not counters.get("device_ns"):
            instructions = counters.get("instructions")
            return {"instructions": instructions[0] / amount} if instructions else {"ran": True}
        taken = counters["device_ns"][0] / 1e9
        steps = min(MOST_STEPS, max(steps, int(steps * seconds / max(taken, 1e-6))))
        rates = []
        for _ in range(repetitions):
            amount, counters = self.run(kernel, steps)
            rates.append(amount / (counters["device_ns"][0] / 1e9))
        return {"best": max(rates), "median": float(np.median(rates)), "repetitions": len(rates)}


@contextmanager
def _agents(workspace: Workspace, name: str) -> Iterator[Agents]:
    boards = {name: workspace.boards[name]} if name != LOCAL else {}
    with tempfile.TemporaryDirectory(prefix="bench-peaks-") as folder:
        pool = AgentPool(
            lambda toolchain: workspace.toolchains.ensure(toolchain, progress=note), Path(folder),
            workspace.catalog.sources, boards=boards, note=note, variables=workspace.variables,
        )  # fmt: skip
        try:
            yield Agents(workspace, pool, name)
        finally:
            pool.close()


def _processors(agent: LeasedAgent) -> int:
    """How many processors a board with an agent in Python has; 1 where it does not say. Raises AgentFailure."""
    try:
        done = agent.call("probe", "command", {"argv": ["nproc"]}, limits=Limits(30.0, 0)).meta
    except AgentFailure:
        return 1
    text = str(done["said"]).strip()
    return int(text) if done["code"] == 0 and text.isdigit() else 1


def _stream_bytes() -> int:
    """The size of an array that no cache of this machine holds."""
    largest = 0
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text("ascii").strip()
        if text[:-1].isdigit() and text[-1] in "KM":
            largest = max(largest, int(text[:-1]) << (10 if text[-1] == "K" else 20))
    return min(MOST_STREAM, max(LEAST_STREAM, TIMES_CACHE * largest))
