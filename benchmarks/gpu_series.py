"""Series of a GPU while the CUDA driver fills its memory over and over: what NVML says before, meanwhile and after.

    python benchmarks/gpu_series.py [--seconds 5] [--gib 8]

It needs Python 3.8, NVIDIA's driver, and nothing else. Prints the statistics of each phase, what sampling cost, and all
values of every tenth reading. Without a driver there is no series, and it ends with 1.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_plugin.agent import telemetry
from bench_plugin.agent.telemetry.recording import summary


class Cuda:
    """The driver's functions that fill memory. Raises OSError without a driver, RuntimeError where one fails."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        self._ask("cuInit", ctypes.c_uint(0))
        self._ask("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self._ask("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._ask("cuCtxSetCurrent", self._context)

    def fill(self, size: int, seconds: float) -> None:
        """Fill ``size`` bytes of the GPU's memory again and again for ``seconds``, and give them back."""
        memory = ctypes.c_uint64()
        self._ask("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for value in range(20):
                self._ask("cuMemsetD32_v2", memory, ctypes.c_uint(value), ctypes.c_size_t(size // 4))
            self._ask("cuCtxSynchronize")
        self._ask("cuMemFree_v2", memory)

    def _ask(self, function: str, *arguments: Any) -> None:
        status = getattr(self._driver, function)(*arguments)
        if status:
            raise RuntimeError(f"{function} ends with {status}")


def main() -> int:
    """Record, and print what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each of the three phases")
    parser.add_argument("--gib", type=int, default=8, help="memory of the GPU that is filled")
    options = parser.parse_args()
    try:
        cuda = Cuda()
    except OSError as error:
        print(f"no CUDA driver: {error}")
        return 1
    with telemetry.sampling() as series:
        with series.phase("idle"):
            time.sleep(options.seconds)
        with series.phase("full"):
            cuda.fill(options.gib << 30, options.seconds)
        with series.phase("after"):
            time.sleep(options.seconds)
    recorded: dict[str, Any] = {name: one for name, one in series.report["series"].items() if name.startswith("gpu")}
    for name, one in recorded.items():
        print(name, one["channel"]["unit"], one["channel"]["place"])
        points = [(at, one["value"][index]) for index, at in enumerate(one["time"])]
        for phase in series.phases:
            values = [value for at, value in points if phase["begin"] <= at <= phase["end"]]
            print(f"  {phase['name']}: {json.dumps(summary(values))}")
        print(f"  every tenth: {[(round(at, 1), value) for at, value in points[::10]]}")
    print(json.dumps(telemetry.about(series)["sampler"]))
    return 0 if recorded else 1


if __name__ == "__main__":
    sys.exit(main())
