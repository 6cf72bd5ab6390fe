"""C programs of tests, by the system's gcc; skipped where there is none. Run as a script it fuzzes the C agent.

``python -m tests.agent.c.compiled SECONDS [SEED]`` prints executions, the inputs that were kept, and their edges.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.agent import c, wire
from bench_plugin.agent.c import glue, prototype

HERE = Path(__file__).parent
AGENT = Path(c.__file__).parent
VECTORS = json.loads((HERE.parent / "vectors.json").read_text())
WARNINGS = ["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-g"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
DIGEST = "0123456789abcdef" * 4


def gcc() -> str:
    """The C compiler."""
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("gcc not found; install gcc")
    return found


def compiled(sources: list[Path], made: Path, *flags: str) -> Path:
    """An executable of C files. Raises AssertionError, with what gcc says, where it refuses them."""
    argv = [gcc(), *WARNINGS, *flags, f"-I{AGENT}", f"-I{made.parent}", *map(str, sources), "-o", str(made)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def program(folder: Path, *flags: str) -> tuple[Path, Path]:
    """``program.elf`` of the model of tests for this machine, and its ``model.json``."""
    code = (HERE / "model.c").read_text()
    parameters = prototype.parameters(code, "model", iter(["x", "n"]), iter(["doubled", "sums"]), glue.WIRE_TYPES)
    (folder / "model.c").write_text(code)
    (folder / "glue.c").write_text(glue.text("model.c", "model", parameters, DIGEST, {"model": DIGEST}))
    (folder / "model.json").write_text(json.dumps({"parameters": parameters, "digest": DIGEST}))
    made = compiled([folder / "glue.c", AGENT / "core.c", AGENT / "posix.c"], folder / "program.elf", *flags)
    return made, folder / "model.json"


def fuzzed(folder: Path, seconds: int, seed: int = 1) -> dict[str, Any]:
    """Fuzz the C agent for so long; what it reports. Raises CalledProcessError where a sanitizer found something."""
    core = folder / "core.o"
    compiled([AGENT / "core.c"], core, "-c", "-O1", "-fsanitize-coverage=trace-pc", *SANITIZERS)
    fuzzer = compiled([HERE / "fuzz.c", core], folder / "fuzz", "-O1", *SANITIZERS)
    seeds = [bytes.fromhex(vector["frame"]) for kind in ("frames", "refused") for vector in VECTORS[kind]]
    data = folder / "seeds"
    data.write_bytes(b"".join(struct.pack("<I", len(one)) + one for one in [*seeds, *_own_seeds()] if len(one) < 4096))
    argv = [str(fuzzer), str(data), str(seconds), str(seed)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout))


def _own_seeds() -> list[bytes]:
    """Requests that the fuzzer's model takes."""
    arrays = [
        wire.Array("float32", (2, 3), bytes(24)),
        wire.Array("int32", (1,), bytes(4)),
        wire.Array("uint8", (5, 1, 1), bytes(5)),
    ]
    digest = wire.Array("bytes", (32,), bytes([1, 2, 3, 4]).ljust(32, b"\0"))
    frames = [(wire.RUN, arrays), (wire.LOAD, [digest]), (wire.HELLO, []), (wire.RESET, []), (wire.BYE, [])]
    return [b"".join(bytes(part) for part in wire.encode(kind, 5, {"a": 1}, given)) for kind, given in frames]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(fuzzed(Path(place), int(sys.argv[1]), seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1))
