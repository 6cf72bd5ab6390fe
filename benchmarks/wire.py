"""Round trips through a deployed identity model against a raw TCP echo, both ends in Python, in turn on loopback.

    python benchmarks/wire.py [--rounds 40] [--samples 200] [--profile]

Prints, per size, the median time of a raw length-prefixed echo and of an inference, and the median of the ratios of
their medians round by round, with authenticated frames and with tunnelled ones (which carry no code, for SSH); the
processor time of the host per inference; and the memory that 64 MiB take at the host and at the agent.
"""

from __future__ import annotations

import argparse
import base64
import cProfile
import os
import pstats
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bench_plugin.reach.deployment import Deployment, deploy
from bench_plugin.reach.network import Endpoint, start
from bench_plugin.reach.processes.leased_agent import Limits, Source
from bench_plugin.reach.processes.zipapp import build_agent

SIZES = (256, 3136, 602_112)
LARGE = 64 << 20
LIMITS = Limits(60.0, 0)
LENGTH = struct.Struct("<Q")
# The meta of a RunCall: what compilers are told of the model and its artefact.
RUN = {"precision": "fp32", "batched": True}
IDENTITY = b'''
from bench_plugin.agent.toolkit import samples

ADAPTER = {"name": "identity", "kind": "compiler", "toolchain": "identity", "operations": ["run"]}


class Adapter:
    """Gives back what it is given."""

    def reset(self):
        """Nothing is kept."""

    def run(self, call):
        """One sample."""
        return samples.answered(call, lambda xs: xs, list(call.inputs.values()))
'''
# The same work as ours, and no more: the length, then the bytes, into a buffer that is used again.
ECHO = """
import socket, struct
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
head = bytearray(8)
buffer = bytearray(64 << 20)
while connection.recv_into(head, 8, socket.MSG_WAITALL):
    size = struct.unpack("<Q", head)[0]
    view = memoryview(buffer)[:size]
    connection.recv_into(view, size, socket.MSG_WAITALL)
    parts = [memoryview(head), view]
    sent = connection.sendmsg(parts)
    assert sent == size + 8
"""


@dataclass(frozen=True)
class Raw:
    """A raw echo over TCP."""

    connection: socket.socket

    def __call__(self, values: np.ndarray) -> None:
        """One round trip of ``values`` [...]."""
        data = memoryview(values).cast("B")
        self.connection.sendmsg([LENGTH.pack(len(data)), data])
        head = self.connection.recv(8, socket.MSG_WAITALL)
        size = LENGTH.unpack(head)[0]
        buffer = BUFFERS.setdefault(size, bytearray(size))
        self.connection.recv_into(buffer, size, socket.MSG_WAITALL)


BUFFERS: dict[int, bytearray] = {}


@contextmanager
def raw_echo() -> Iterator[Raw]:
    """A raw echo in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        with socket.create_connection(("127.0.0.1", int(process.stdout.readline()))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield Raw(connection)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def listener(home: Path) -> Iterator[Endpoint]:
    """An agent that listens, in a process of its own."""
    token = home / "token"
    token.write_bytes(base64.b64encode(os.urandom(32)))
    argv = ["--listen", "127.0.0.1:0", "--token-file", str(token), "--folder", str(home / "board"), "--tunnelled"]
    process = subprocess.Popen([sys.executable, "-I", str(build_agent(home)), *argv], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        yield Endpoint("127.0.0.1", port, token, wait=20)
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def deployed(endpoint: Endpoint, home: Path, size: int) -> Iterator[Deployment]:
    """The identity model, deployed for float32 [size / 4]."""
    agent = start(endpoint, home / "log", lambda name: [Source(name, IDENTITY)], home / "results")
    try:
        example = {"x": np.zeros((1, size // 4), np.float32)}
        yield deploy(agent, "identity", RUN, inputs=example, files={}, limits=LIMITS)
    finally:
        agent.close()


def median(call: Callable[[], object], samples: int) -> float:
    """The median of the seconds of a call."""
    found = []
    for _ in range(samples):
        began = time.perf_counter_ns()
        call()
        found.append(time.perf_counter_ns() - began)
    return statistics.median(found) / 1e9


def round_trips(endpoint: Endpoint, home: Path, rounds: int, samples: int) -> None:
    """Print the medians and the ratio of each size, with and without authentication codes."""
    for tunnelled in (False, True):
        for size in SIZES:
            values = np.random.default_rng(0).random(size // 4, dtype=np.float32)
            count = max(20, samples // (1 + size // 100_000))
            ratios, raws, ours, costs = [], [], [], []
            with raw_echo() as raw, deployed(replace(endpoint, tunnelled=tunnelled), home, size) as model:
                assert (model.infer([values])[0] == values).all()
                for number in range(rounds + 1):
                    before = median(partial(raw, values), count)
                    cpu = time.process_time()
                    took = median(partial(model.infer, [values]), count)
                    cost = (time.process_time() - cpu) / count
                    after = median(partial(raw, values), count)
                    if number:  # the first round warms up
                        raws.append((before + after) / 2)
                        ours.append(took)
                        ratios.append(took / raws[-1])
                        costs.append(cost)
            kind = "tunnelled" if tunnelled else "authenticated"
            print(
                f"{kind:13} {size:>7} B: raw {statistics.median(raws) * 1e6:7.1f} us, "
                f"inference {statistics.median(ours) * 1e6:7.1f} us, ratio {statistics.median(ratios):.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f}), host CPU {statistics.median(costs) * 1e6:6.1f} us"
            )


def profiled(endpoint: Endpoint, home: Path, size: int) -> None:
    """Print where the host's time goes."""
    with deployed(endpoint, home, size) as model:
        values = np.zeros(size // 4, np.float32)
        profile = cProfile.Profile()
        profile.enable()
        for _ in range(5000):
            model.infer([values])
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)


def memory(endpoint: Endpoint, home: Path) -> None:
    """Print what 64 MiB take beyond the arrays that go in and come out, at the host and at the agent."""
    with deployed(endpoint, home, 1024) as small:
        base = small.statistics().peak_bytes
    with deployed(endpoint, home, 1024) as model:
        values = np.ones(LARGE // 4, np.float32)
        tracemalloc.start()
        (back,) = model.infer([values])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert back.nbytes == LARGE
        agent = model.statistics().peak_bytes - base
    print(f"{LARGE >> 20} MiB: the host takes {peak / 2**20:.0f} MiB for the answer, the agent {agent / 2**20:.0f} MiB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--profile", action="store_true", help="show where the host's time goes instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with listener(home) as endpoint:
            if options.profile:
                profiled(endpoint, home, SIZES[0])
                return
            round_trips(endpoint, home, options.rounds, options.samples)
            memory(endpoint, home)


if __name__ == "__main__":
    main()
