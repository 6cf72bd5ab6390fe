"""What NumPy's threads cost where agents work side by side: convolutions as products, with all cores and with a part.

    python benchmarks/shared_cores.py [--at-once 2] [--busy 2] [--rounds 3]

So many processes compute the same products at once, beside ``--busy`` others that only spin. Each round runs them with
one OpenBLAS thread for each core and with the part of the cores that agents get (reach/processes/supervisor.py), one
after the other; OPENBLAS_THREAD_TIMEOUT is set as for agents. Prints the medians of the seconds and their ratio. Ends
with 1 where the products have other bits.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

# The sizes of products in ResNet50: outputs, terms, places.
WORK = """
import hashlib
import numpy as np
rng, digest = np.random.default_rng(0), hashlib.sha256()
sizes = [(64, 147, 12544), (64, 576, 3136), (256, 64, 3136), (128, 1152, 784), (512, 2048, 49), (1000, 2048, 1)]
for rows, terms, places in sizes * 20:
    digest.update((rng.standard_normal((rows, terms)) @ rng.standard_normal((terms, places))).tobytes())
print(digest.hexdigest())
"""
SPIN = "while True: pass"


def measured(at_once: int, threads: int) -> tuple[float, set[str]]:
    """The seconds until all processes have ended, and the digests of what they computed."""
    variables = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OPENBLAS_THREAD_TIMEOUT": "4"}
    began = time.perf_counter()
    processes = [
        subprocess.Popen([sys.executable, "-c", WORK], env=variables, stdout=subprocess.PIPE, text=True)
        for _ in range(at_once)
    ]
    found = {process.communicate()[0].strip() for process in processes}
    return time.perf_counter() - began, found


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    said = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    part = max(1, cores // said.at_once)
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(said.busy)]
    seconds: dict[int, list[float]] = {cores: [], part: []}
    bits: set[str] = set()
    try:
        for _ in range(said.rounds):
            for threads, times in seconds.items():
                took, found = measured(said.at_once, threads)
                times.append(took)
                bits |= found
    finally:
        for other in others:
            other.kill()
    medians = {threads: statistics.median(times) for threads, times in seconds.items()}
    for threads, median in medians.items():
        print(f"{said.at_once} processes beside {said.busy} busy ones, {threads} threads each: {median:.2f} s")
    print(f"ratio {medians[cores] / medians[part]:.2f}, {len(bits)} different results")
    return int(len(bits) > 1)


if __name__ == "__main__":
    sys.exit(main())
