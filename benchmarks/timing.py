"""Reported compute latency against a bare loop in one process: paired blocks in turn, median of the paired ratios.

    python benchmarks/timing.py [--pairs 20] [--samples 200]

For a model of about 300 us in onnxruntime and one of about 4 us that emx compiled to C, each in the interpreter of its
toolchain: a block is ``--samples`` samples as an agent reports them, and as many of a loop that knows nothing of this
project, on the same artefact and input. The order of the two changes from pair to pair. Prints the median of the ratios
and of the differences, with intervals of 95 % by ranks.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CASES = {"onnxruntime": (64, 320, 4), "emx": (1, 150, 1)}  # rows, width and layers of a perceptron


def main() -> int:
    """0, or 1 where a case could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--inside", choices=CASES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        print(json.dumps(_measured(args.inside, args.pairs, args.samples)))
        sys.stdout.flush()
        os._exit(0)
    sys.path.insert(0, str(ROOT))
    from bench_plugin.reach.environments.toolchains import Toolchains

    toolchains = Toolchains()
    for name in CASES:
        command = [str(toolchains.ensure(name, print)), str(Path(__file__).resolve()), "--inside", name]
        command += ["--pairs", str(args.pairs), "--samples", str(args.samples)]
        said = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True)
        if said.returncode:
            print(said.stderr, file=sys.stderr)
            return 1
        _show(name, json.loads(said.stdout.splitlines()[-1]))
    return 0


def _show(name: str, pairs: Sequence[tuple[float, float]]) -> None:
    """One line: what was reported, and how it compares with the bare loop."""
    reported = statistics.median(one for one, _ in pairs)
    ratio, low, high = _by_ranks([one / bare for one, bare in pairs])
    more, least, most = _by_ranks([(one - bare) * 1e6 for one, bare in pairs])
    print(
        f"{name}: reported {reported * 1e6:.2f} us; ratio to the bare loop {ratio:.4f} ({low:.4f} to {high:.4f}), "
        f"difference {more:+.3f} us ({least:+.3f} to {most:+.3f}); {len(pairs)} pairs"
    )


def _by_ranks(values: Sequence[float]) -> tuple[float, float, float]:
    """The median with the ranks that enclose it in 95 % of cases (sign test), as normal approximation."""
    found = sorted(values)
    reach = 0.98 * len(found) ** 0.5
    low = max(0, int(len(found) / 2 - reach))
    return statistics.median(found), found[low], found[len(found) - 1 - low]


def _measured(name: str, pairs: int, samples: int) -> list[tuple[float, float]]:
    """Seconds per inference (reported, bare) of each pair."""
    folder = tempfile.mkdtemp()
    rows, width, layers = CASES[name]
    model = _model(os.path.join(folder, "model.onnx"), rows, width, layers)
    import numpy as np

    x = np.random.default_rng(0).standard_normal((1, rows, width)).astype(np.float32)
    adapter, files, ports = _compiled(name, model, folder, rows, width)
    report = _reporter(adapter, files, ports, x, folder, samples)
    report()  # opens the artefact
    inner, loop = report()["inner"], _bare(name, adapter, x[0])
    found = []
    for pair in range(pairs):
        if pair % 2:
            bare, said = _bare_seconds(loop, samples, inner), report()
        else:
            said, bare = report(), _bare_seconds(loop, samples, inner)
        found.append((said["median"], bare))
    return found


def _compiled(name: str, model: str, folder: str, rows: int, width: int) -> tuple[Any, dict[str, str], Any]:
    from importlib import import_module

    from bench_plugin.agent.contract import CompileCall, Place, Port, Target

    adapter = import_module(f"bench_plugin.adapters.compilers.{name}").Adapter()
    ports = {
        key: (Port(port, "float32", (rows, width)),) for key, port in (("input_ports", "x"), ("output_ports", "y"))
    }
    place = Place(os.path.join(folder, "made"), {"model.onnx": model}, {}, lambda stage: None)
    os.mkdir(place.folder)
    call = CompileCall(batched=False, precision="fp32", graph="original", target=Target(), threads=1, **ports)
    return adapter, adapter.compile(call.at(place)).files, ports


def _reporter(
    adapter: Any, files: dict[str, str], ports: Any, x: Any, folder: str, samples: int
) -> Callable[[], dict[str, Any]]:
    """What an agent reports of one block, without a warm-up beside the first one."""
    from bench_plugin.agent.arrays import from_numpy
    from bench_plugin.agent.contract import Place, TimeCall

    place = Place(folder, files, {"in:x": from_numpy(x)}, lambda stage: None)
    plan = {"blocks": 1, "block_seconds": 0.0, "block_samples": samples, "seconds": 60.0, "warmup_seconds": 0.0}
    call = TimeCall(threads=1, sampled=1, **plan, **ports).at(place)
    return lambda: adapter.run(call).meta["timing"]  # type: ignore[no-any-return]


def _bare(name: str, adapter: Any, x: Any) -> Callable[[], Any]:
    """The call that somebody would write who has the runtime and nothing else, on the same artefact."""
    import numpy as np

    if name == "onnxruntime":
        session, feeds = adapter._session, {"x": x}
        return lambda: session.run(None, feeds)
    y = np.empty_like(x)
    function, given, taken = adapter._library.model, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
    function.restype = None
    return lambda held=(x, y): function(given, taken)  # type: ignore[misc]


def _bare_seconds(call: Callable[[], Any], samples: int, inner: int) -> float:
    """The median seconds per call of so many samples of ``inner`` calls each."""
    found = []
    for _ in range(samples):
        began = time.perf_counter_ns()
        for _ in range(inner):
            call()
        found.append((time.perf_counter_ns() - began) / inner)
    return statistics.median(found) / 1e9


def _model(path: str, rows: int, width: int, layers: int) -> str:
    """An ONNX file of matrix products with ReLU between them."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    rng = np.random.default_rng(1)
    nodes, weights, last = [], [], "x"
    for layer in range(layers):
        name = f"w{layer}"
        values = (rng.standard_normal((width, width)) / width**0.5).astype(np.float32)
        weights.append(numpy_helper.from_array(values, name))
        end = "y" if layer == layers - 1 else f"r{layer}"
        nodes += [
            helper.make_node("MatMul", [last, name], [f"m{layer}"]),
            helper.make_node("Relu", [f"m{layer}"], [end]),
        ]
        last = end
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, width]) for name in "xy"]
    graph = helper.make_graph(nodes, "perceptron", ends[:1], ends[1:], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


if __name__ == "__main__":
    sys.exit(main())
