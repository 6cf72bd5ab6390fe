"""Microkernels in C for a processor's roofs: compiled for this machine or for a target, and timed where they can be."""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import os
import shutil
import statistics
import threading
import time
from dataclasses import dataclass
from typing import Any, Mapping

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.c import building, zig
from bench_plugin.agent.contract import Call, Target
from bench_plugin.agent.toolkit import programs, versions

ADAPTER = {
    "name": "microkernels",
    "kind": "tool",
    "toolchain": "emx",
    "title": "Microkernels",
    "distribution": "ziglang",
    "operations": ["build_kernels", "measure_kernels"],
}

SOURCE, LIBRARY, ENTRY = "microkernels.c", "microkernels.so", "bench_kernel"
FILL = 4  # the code in microkernels.c of what fills the arrays; those of streams are above it
# What microkernels.c asks of the compiler; they come behind the flags of models, which round every operation.
FLAGS = ("-O3", "-std=gnu11", "-ffp-contract=fast", "-fno-builtin", "-fno-math-errno")
PARAMETERS = (
    {"kind": "input", "name": "job", "type": "int32_t", "shape": [4]},
    {"kind": "output", "name": "said", "type": "int64_t", "shape": [4]},
)
MOST_STEPS = 400_000_000  # of one call: sums of int8 stay within 32 bits


@dataclass(frozen=True, eq=False, repr=False)
class BuildCall(Call):
    """Compile ``microkernels.c`` to a library for agents in Python, or with ``program`` to one of a board's programs.

    target: the machine to compile for.
    stream_bytes: the size of each array that streams move.
    program: make ``program.elf`` and ``model.json``.
    """

    operation = "build_kernels"

    target: Target = dataclasses.field(default_factory=Target)
    stream_bytes: int = 1 << 26
    program: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class MeasureCall(Call):
    """Run kernels of ``microkernels.so`` in ``threads`` threads at the same time, and time them.

    kernels: their codes in microkernels.c, by name.
    threads: how many threads compute.
    seconds: how long one repetition takes, about.
    repetitions: how often each kernel is timed.
    """

    operation = "measure_kernels"

    kernels: Mapping[str, int] = dataclasses.field(default_factory=dict)
    threads: int = 1
    seconds: float = 0.1
    repetitions: int = 7


CALLS = {"build_kernels": BuildCall, "measure_kernels": MeasureCall}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ziglang")

    def reset(self) -> None:
        """Nothing to forget."""

    def build_kernels(self, call: BuildCall) -> Reply:
        """The library, or the program. Raises NotProvided without zig, Unsupported for a strange target."""
        call.stage("compile")
        defined = "-DBENCH_STREAM_BYTES=%d" % call.stream_bytes
        source = shutil.copyfile(call.files[SOURCE], call.path(SOURCE))
        with open(source, "rb") as file:
            digest = hashlib.sha256(file.read() + defined.encode()).hexdigest()
        if call.program:
            model = building.Model(call.folder, SOURCE, ENTRY, PARAMETERS, digest)
            built = building.program(model, call.target, [*FLAGS, defined])
            files = {building.PROGRAM: built.file, "model.json": call.path("model.json")}
            with open(files["model.json"], "w", encoding="utf-8") as said:
                json.dump({"parameters": list(PARAMETERS), "digest": digest}, said)
            return Reply({"compiler": built.switches["c_compiler"], "flags": built.switches["flags"]}, files=files)
        target = call.target
        if target.is_local:
            target = Target(architecture=os.uname().machine, cpu="native")
        compiler = zig.Zig(target)
        machine = [_hosted(flag) for flag in compiler.machine]
        machine += ["-mprefer-vector-width=512"] if target.architecture == "x86_64" else []
        flags = [*machine, *FLAGS, defined, "-shared", "-fPIC", "-nostdlib", "-g0"]
        argv = [compiler.path, "cc", *flags, SOURCE, "-o", LIBRARY]
        said_by = programs.run(argv, call.folder, {"ZIG_GLOBAL_CACHE_DIR": call.path("zig-cache")})
        if said_by.status:
            raise zig.CompilerFailed("zig ended with status %d: %s" % (said_by.status, said_by.text.strip()[-500:]))
        return Reply({"compiler": compiler.version, "flags": flags}, files={LIBRARY: call.path(LIBRARY)})

    def measure_kernels(self, call: MeasureCall) -> Reply:
        """``kernels``: by name the best and the median per second, in how many repetitions; absent where there is none.

        Raises ValueError for a kernel whose result is not the one that follows from its operations.
        """
        call.stage("run")
        function = getattr(ctypes.CDLL(call.files[LIBRARY]), ENTRY)
        function.restype = None
        crew = _Crew(function, call.threads)
        found: dict[str, Any] = {}
        crew.run(FILL, 1)
        for name, kernel in call.kernels.items():
            steps, rates = 1 if kernel > FILL else 1000, []
            while True:  # find how many steps take about long enough
                amount, seconds = crew.run(kernel, steps)
                if not amount or seconds >= call.seconds / 2 or steps >= MOST_STEPS:
                    break
                steps = min(MOST_STEPS, max(2 * steps, int(steps * call.seconds / max(seconds, 1e-6))))
            for _ in range(call.repetitions if amount else 0):
                amount, seconds = crew.run(kernel, steps)
                rates.append(amount / seconds)
            if rates:
                found[name] = {"best": max(rates), "median": statistics.median(rates), "repetitions": len(rates)}
        return Reply({"kernels": found, "array_bytes": crew.array_bytes, "machine": _processor()})


class _Crew:
    """Threads that do one job at the same time; C code runs without Python's global lock."""

    def __init__(self, function: Any, threads: int) -> None:
        self._function = function
        self._threads = threads
        self.array_bytes = 0

    def run(self, kernel: int, steps: int) -> tuple[int, float]:
        """Operations or bytes of all threads together, and seconds from the common start to the last end.

        Raises ValueError for a wrong result.
        """
        jobs = [(ctypes.c_int32 * 4)(kernel, steps, part, self._threads) for part in range(self._threads)]
        said = [(ctypes.c_int64 * 4)() for _ in jobs]
        ends = [0.0] * self._threads
        start = threading.Barrier(self._threads + 1)

        def work(part: int) -> None:
            start.wait()
            self._function(jobs[part], said[part])
            ends[part] = time.perf_counter()

        crew = [threading.Thread(target=work, args=(part,)) for part in range(self._threads)]
        for one in crew:
            one.start()
        began = time.perf_counter()  # before any of them begins
        start.wait()
        for one in crew:
            one.join()
        if not all(one[1] for one in said):
            raise ValueError("microkernel %d computed a wrong result" % kernel)
        self.array_bytes = said[0][2]
        return sum(one[0] for one in said), max(ends) - began


def _processor() -> str:
    """What Linux says of the first processor; empty where it says no name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model", "Hardware"))]
    return names[0] if names else ""


def _hosted(flag: str) -> str:
    """A flag of zig's that names a system without a C library, as one that names Linux with musl, for a library.

    >>> _hosted("x86_64-freestanding-none"), _hosted("arm-freestanding-eabihf")
    ('x86_64-linux-musl', 'arm-linux-musleabihf')
    """
    return flag.replace("freestanding-none", "linux-musl").replace("freestanding-", "linux-musl")
