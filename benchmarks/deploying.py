"""From deploying an artefact on this machine to its first output, against a process that has the runtime alone.

    python benchmarks/deploying.py [--pairs 20] [--compilers onnxruntime,openvino,emx] [--profile]

The artefact, a small perceptron, was compiled before. In turn, each in fresh processes: this project deploys it, from
the start of its processes (guardian and agent) to the first output; and a script that imports the runtime, loads the
artefact and calls it once, from the start of its process to the first output. The order changes from pair to pair.

Prints medians, and those of processor time, which say something on a busy machine too; and the median difference
with an interval of 95 % by ranks: to the whole of that script, and to the runtime's own import, which the script times.
The aim is 0.3 s beyond the import.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS, WIDTH, LAYERS = 1, 150, 1
COMPILERS = ("onnxruntime", "openvino", "emx")
OPEN = {
    "onnxruntime": """
import onnxruntime
import numpy as np
imported = time.perf_counter()
chosen = onnxruntime.SessionOptions()
chosen.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(folder + "/model.onnx", chosen, providers=["CPUExecutionProvider"])
y = session.run(None, {"x": np.zeros((ROWS, WIDTH), np.float32)})[0]
""",
    "openvino": """
import openvino
import numpy as np
imported = time.perf_counter()
core = openvino.Core()
settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
model = core.compile_model(core.read_model(folder + "/model.xml", folder + "/model.bin"), "CPU", settings)
y = model.create_infer_request().infer({0: np.zeros((ROWS, WIDTH), np.float32)})[0]
""",
    "emx": """
import ctypes
import numpy as np
imported = time.perf_counter()
library = ctypes.CDLL(folder + "/model.so")
x, y = np.zeros((ROWS, WIDTH), np.float32), np.empty((ROWS, WIDTH), np.float32)
library.model.restype = None
library.model(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
""",
}
BARE = """
import sys, time
began = time.perf_counter()
folder, ROWS, WIDTH = sys.argv[1], {rows}, {width}
{body}
assert y.shape == (ROWS, WIDTH)
print(imported - began, time.process_time(), flush=True)
"""


def main() -> int:
    """0, or 1 where a compiler could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--compilers", default=",".join(COMPILERS))
    parser.add_argument("--profile", action="store_true", help="show where one deployment's time goes in this process")
    parser.add_argument("--make", nargs=2, metavar=("COMPILER", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--deploy", nargs=2, metavar=("COMPILER", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if args.make:
        _make(*args.make)
        return 0
    if args.deploy:
        print(json.dumps(_deployed(args.deploy[0], Path(args.deploy[1]), profile=args.profile)), flush=True)
        return 0
    from bench_plugin.reach.environments.toolchains import Toolchains

    toolchains = Toolchains()
    for name in args.compilers.split(","):
        python = str(toolchains.ensure(name, print))
        with tempfile.TemporaryDirectory() as folder:
            _run([python, __file__, "--make", name, folder])
            if args.profile:
                print(_run([sys.executable, __file__, "--deploy", name, folder, "--profile"]))
                continue
            _show(name, _measured(name, python, Path(folder), args.pairs))
    return 0


def _measured(name: str, python: str, folder: Path, pairs: int) -> list[dict[str, float]]:
    """Seconds of each pair: by the clock on the wall and of processors (``_cpu``); a first pair warms up."""
    script = folder / "bare.py"
    script.write_text(BARE.format(rows=ROWS, width=WIDTH, body=OPEN[name]), "utf-8")

    def bare() -> dict[str, float]:
        began = time.perf_counter()
        with subprocess.Popen([python, "-I", "-u", str(script), str(folder)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            ended = time.perf_counter()
        if process.returncode:
            raise SystemExit(f"{name}: the bare script ended with {process.returncode}")
        imported, processor = map(float, line.split())
        return {"bare": ended - began, "imported": imported, "bare_cpu": processor}

    def ours() -> dict[str, float]:
        said: dict[str, float] = json.loads(_run([sys.executable, __file__, "--deploy", name, str(folder)]))
        return said

    found = []
    for pair in range(pairs + 1):
        first, second = (bare, ours) if pair % 2 else (ours, bare)
        found.append({**first(), **second()})
    return found[1:]


def _show(name: str, found: Sequence[Mapping[str, float]]) -> None:
    """Some lines: the medians, and the differences with their intervals."""
    middle = {key: statistics.median(one[key] for one in found) for key in found[0]}
    print(
        f"{name}: {middle['deployed']:.3f} s to the first output ({middle['pool']:.3f} s of them for the guardian); a "
        f"bare process {middle['bare']:.3f} s, {middle['imported']:.3f} s of them for its imports; {len(found)} pairs"
    )
    print(f"  processor time {middle['deployed_cpu']:.3f} s (host and agent), bare {middle['bare_cpu']:.3f} s")
    for what in ("bare", "imported"):
        centre, low, high = _by_ranks([one["deployed"] - one[what] for one in found])
        beyond = "the bare process" if what == "bare" else "the imports"
        print(f"  beyond {beyond}: {centre:+.3f} s ({low:+.3f} to {high:+.3f})")


def _by_ranks(values: Sequence[float]) -> tuple[float, float, float]:
    """The median with the ranks that enclose it in 95 % of cases (sign test), as normal approximation."""
    found = sorted(values)
    low = max(0, int(len(found) / 2 - 0.98 * len(found) ** 0.5))
    return statistics.median(found), found[low], found[len(found) - 1 - low]


def _run(command: Sequence[str]) -> str:
    """The standard output of a program. Raises SystemExit with what it said where it fails."""
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT), **_variables()}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _variables() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _make(name: str, folder: str) -> None:
    """Compile the model in the interpreter of the compiler's toolchain; ``files.json`` names the artefact's files."""
    import shutil

    import timing

    model = timing._model(f"{folder}/source.onnx", ROWS, WIDTH, LAYERS)
    _, files, _ = timing._compiled(name, model, folder, ROWS, WIDTH)
    for key, path in files.items():
        if Path(path) != Path(folder, key):
            shutil.copyfile(path, Path(folder, key))
    Path(folder, "files.json").write_text(json.dumps(sorted(files)), "utf-8")


def _deployed(name: str, folder: Path, *, profile: bool) -> dict[str, float]:
    """Seconds from the start of the processes to the first output, and those of the guardian alone."""
    import cProfile
    import pstats

    import numpy as np

    from bench_plugin.domain.settings import settings_here
    from bench_plugin.inventory.workspace import Workspace
    from bench_plugin.reach.deployment import deploy
    from bench_plugin.reach.processes.leased_agent import Limits
    from bench_plugin.reach.processes.supervisor import AgentPool

    workspace = Workspace.load(settings_here())
    adapter = workspace.catalog[name]
    files = {key: folder / key for key in json.loads((folder / "files.json").read_text("utf-8"))}
    ports = {key: [{"name": port, "dtype": "float32", "shape": [ROWS, WIDTH]}] for key, port in PORTS.items()}
    meta = {
        "precision": "fp32",
        "batched": False,
        "graph": "original",
        "threads": 1,
        "target": {"name": "local"},
        **ports,
    }
    x = np.zeros((ROWS, WIDTH), np.float32)
    python = workspace.toolchains.ensure(adapter.toolchain, progress=print)
    profiler = cProfile.Profile()
    if profile:
        profiler.enable()
    began, processor = time.perf_counter(), time.process_time()
    pool = AgentPool(lambda toolchain: python, folder / "logs", workspace.catalog.sources, folder / "scratch")
    there = time.perf_counter()
    try:
        with pool.lease(adapter.toolchain, role="run") as agent:
            model = deploy(agent, name, meta, inputs={"x": x[None]}, files=files, limits=Limits(60.0, 0))
            (y,) = model.infer([x])
            ended = time.perf_counter()
            processor = time.process_time() - processor + (model._agent.process.spent() or 0.0)
            assert y.shape == (ROWS, WIDTH)
    finally:
        pool.close()
    profiler.disable()
    if profile:
        pstats.Stats(profiler).sort_stats("cumtime").print_stats(40)
    return {"deployed": ended - began, "pool": there - began, "deployed_cpu": processor}


PORTS = {"inputs": "x", "outputs": "y"}

if __name__ == "__main__":
    sys.exit(main())
