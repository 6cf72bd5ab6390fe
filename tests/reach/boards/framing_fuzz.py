"""Fuzzes the readers of packets on a serial line: that of the firmware alone, and that in Python beside it.

``python -m tests.reach.boards.framing_fuzz SECONDS [SEED]`` does both side by side, and prints what they did.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_plugin.reach.boards.uart_framing import Decoder, Kind, Packet
from tests.reach.boards.compiled import CHECKED, FIRMWARE, HERE, compiled

VECTORS = json.loads((HERE / "uart_vectors.json").read_text(encoding="utf-8"))
SEEDS = [bytes.fromhex(one["packet"]) for one in VECTORS["packets"]]
REFUSED = [bytes.fromhex(one["bytes"]) for one in VECTORS["refused"]]
LONGEST = 4096


def fuzzer(folder: Path) -> list[str]:
    """The command that fuzzes the firmware's reader, without its seconds and its seed."""
    made = folder / "framing.o"
    flags = ["-std=gnu99", *CHECKED, "-fsanitize-coverage=trace-pc", f"-I{FIRMWARE}", "-c"]
    subprocess.run(["gcc", *flags, str(FIRMWARE / "uart_framing.c"), "-o", str(made)], check=True, timeout=120)
    program = compiled(folder, "uart_framing_fuzz.c", [str(made)])
    seeds = folder / "seeds"
    seeds.write_bytes(b"".join(struct.pack("<I", len(one)) + one for one in (*SEEDS, *REFUSED) if len(one) < LONGEST))
    return [str(program), str(seeds)]


def mutated(draw: random.Random, count: int) -> bytes:
    """A line of so many packets, most of which were damaged."""
    line = bytearray()
    for _ in range(count):
        packet = bytearray(draw.choice(SEEDS)) if draw.random() < 0.95 else bytearray()
        for _ in range(draw.choice((0, 1, 1, 2, 8))):
            at = draw.randrange(len(packet) + 1)
            match draw.randrange(4):
                case 0:
                    del packet[at : at + draw.choice((1, 1, 5, 300))]
                case 1:
                    packet[at:at] = packet[at : at + draw.choice((1, 1, 5, 300))]
                case 2:
                    packet[at:at] = draw.randbytes(draw.choice((1, 3, 700)))
                case _:
                    packet[at : at + 1] = bytes([draw.randrange(256)])
        line += packet
    return bytes(line)


def decoded_in_c(program: Path, data: bytes) -> tuple[list[Packet], list[bytes], int]:
    """What the C code finds in bytes: the packets, each as C encodes it again, and how many it refused."""
    done = subprocess.run([str(program)], input=data, stdout=subprocess.PIPE, check=True, timeout=600)
    *lines, last = done.stdout.decode().splitlines()
    rows = [line.split(" ") for line in lines]
    packets = [Packet(Kind(int(kind)), int(sequence), bytes.fromhex(payload)) for kind, sequence, payload, _ in rows]
    return packets, [bytes.fromhex(row[3]) for row in rows], int(last.removeprefix("refused "))


def compared(program: Path, seconds: float, seed: int) -> dict[str, int]:
    """Read damaged lines in Python and in C for so long. Raises AssertionError where the two differ."""
    draw, until = random.Random(seed), time.monotonic() + seconds
    said = {"executions": 0, "packets": 0, "refused": 0}
    while time.monotonic() < until:
        line, decoder = mutated(draw, 2000), Decoder()
        expected = list(decoder.feed(line))
        packets, _, refused = decoded_in_c(program, line)
        assert (packets, refused) == (expected, decoder.refused), f"after {said} with seed {seed}"
        for name, more in (("executions", 2000), ("packets", len(expected)), ("refused", refused)):
            said[name] += more
    return said


def main(seconds: int, seed: int) -> dict[str, Any]:
    """What both fuzzers did. Raises where one of them found something."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        command = [*fuzzer(folder), str(seconds), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            beside = compared(compiled(folder, "uart_framing_main.c", ["uart_framing.c"]), seconds, seed)
            alone, _ = running.communicate()
    if running.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {running.returncode}")
    return {"C": json.loads(alone), "Python beside C": beside}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)))
