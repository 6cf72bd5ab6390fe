"""``bench sparse MODEL.onnx``: bytes of its weights in sparse formats, and the time of sparse products."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench_plugin.characterise.pruning.sparse import (
    DENSE,
    FORMATS,
    Matrix,
    break_even,
    faster_below,
    matrices,
    sizes,
)
from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.model_facts import read_facts
from bench_plugin.cli.shared.output import note, print_json, print_table
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from bench_plugin.reach.processes.supervisor import AgentPool

HELP = "count the bytes of an ONNX file's weights as COO, CSR and CSC, and time sparse products against dense ones"
ZEROS = "0,0.5,0.75,0.9,0.95,0.99"
ADAPTER = "sparse_weights"
SECONDS, GIB = 300.0, 2**30
HEADS = ("layer", "operator", "matrix", "zeros", DENSE, *FORMATS)
TIMED = ("layer", "zeros", DENSE, *FORMATS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """MODEL.onnx, the shares of zeros, the bytes of values and indices, and whether products are timed."""
    parser.add_argument("model", type=Path, metavar="MODEL.onnx", help="the file; its weights are not read")
    parser.add_argument(
        "--zeros", default=ZEROS, metavar="SHARE,…", help="shares of weights that are zero (default %(default)s)"
    )
    parser.add_argument("--value-bytes", type=int, default=4, metavar="N", help="of a weight (default %(default)s)")
    parser.add_argument("--index-bytes", type=int, default=4, metavar="N", help="of an index (default %(default)s)")
    parser.add_argument(
        "--time", action="store_true",
        help="time products with random weights in NumPy and SciPy, one thread; of float32 and 32-bit indices",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of weights, inputs and zeros of --time")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the sizes, the break-even densities and, where asked, the times.

    Raises UsageError for shares and bytes out of range, BenchError for a model without such weights.
    """
    zeros = _shares(args.zeros)
    for name, count in (("--value-bytes", args.value_bytes), ("--index-bytes", args.index_bytes)):
        if not 1 <= count <= 8:
            raise UsageError(f"{name}: {count} is not a number of bytes from 1 to 8")
    found = matrices(read_facts(args.model, batch=1, sizes={}))
    if not found:
        raise BenchError(f"{args.model}: no convolution or fully connected layer has constant weights of a known shape")
    of_bytes = {"value": args.value_bytes, "index": args.index_bytes}
    seconds = _timed(found, zeros, args.seed) if args.time else None
    if args.json:
        print_json([_plain(one, zeros, of_bytes, seconds[at] if seconds else None) for at, one in enumerate(found)])
        return 0
    print_table([_row(one, share, of_bytes) for one in found for share in zeros], HEADS)
    print("\ndensity (share of weights that are not zero) below which a format is smaller than dense")
    print_table([{"layer": one.name, **_shown(break_even(one, **of_bytes))} for one in found], ("layer", *FORMATS))
    if seconds:
        _print_times(found, zeros, seconds)
    return 0


def _print_times(
    found: Sequence[Matrix], zeros: Sequence[float], seconds: Sequence[Sequence[Mapping[str, float]]]
) -> None:
    print("\nmicroseconds of a product, median, one thread (SciPy's kernels against NumPy's)")
    rows = [
        {"layer": one.name, "zeros": f"{share:.0%}", **{name: f"{took * 1e6:.4g}" for name, took in times.items()}}
        for one, of_layer in zip(found, seconds, strict=True)
        for share, times in zip(zeros, of_layer, strict=True)
    ]
    print_table(rows, TIMED)
    print("\ndensity below which a product is faster than dense; -: at none of these")
    even = [{"layer": one.name, **_faster(zeros, times)} for one, times in zip(found, seconds, strict=True)]
    print_table(even, ("layer", *FORMATS))


def _faster(zeros: Sequence[float], times: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    """By format the density below which its product takes less time than the dense one."""
    order = sorted(range(len(zeros)), key=lambda place: -zeros[place])
    densities, dense = [1 - zeros[place] for place in order], [times[place][DENSE] for place in order]
    return {name: faster_below(densities, dense, [times[place][name] for place in order]) for name in FORMATS}


def _timed(found: Sequence[Matrix], zeros: Sequence[float], seed: int) -> list[list[dict[str, float]]]:
    """For every matrix and share the seconds of a product by format, from an agent. Raises BenchError if it fails."""
    workspace = Workspace.load(settings_here())
    adapter = workspace.catalog[ADAPTER]
    limits = Limits(SECONDS, int(workspace.toolchains.memory_gb(adapter.toolchain) * GIB))
    pool = AgentPool(
        environments=lambda name: workspace.toolchains.ensure(name, progress=note),
        folder=settings_here().results.parent / "logs", adapters=workspace.catalog.sources,
        variables=workspace.variables,
    )  # fmt: skip
    said = {"shapes": [[one.rows, one.columns, one.vectors] for one in found], "zeros": list(zeros), "seed": seed}
    try:
        with pool.lease(adapter.toolchain) as agent:
            answer = agent.call(ADAPTER, "multiply", said, limits=limits)
    except AgentFailure as error:
        raise BenchError(f"products could not be timed: {error.message}") from error
    finally:
        pool.close()
    times: list[list[dict[str, float]]] = answer.meta["seconds"]
    return times


def _plain(
    one: Matrix, zeros: Sequence[float], of_bytes: Mapping[str, int], times: Sequence[Mapping[str, float]] | None
) -> dict[str, Any]:
    rows = [{"zeros": share, "weights": one.left(share), "bytes": sizes(one, share, **of_bytes)} for share in zeros]
    found: dict[str, Any] = {**asdict(one), "sizes": rows, "smaller_below": break_even(one, **of_bytes)}
    if times is not None:
        for row, took in zip(rows, times, strict=True):
            row["seconds"] = dict(took)
        found["faster_below"] = _faster(zeros, times)
    return found


def _row(one: Matrix, share: float, of_bytes: Mapping[str, int]) -> dict[str, object]:
    matrix = f"{one.rows} x {one.columns}"
    return {"layer": one.name, "operator": one.operator, "matrix": matrix, "zeros": f"{share:.0%}",
            **sizes(one, share, **of_bytes)}  # fmt: skip


def _shown(shares: Mapping[str, float]) -> dict[str, str]:
    return {name: f"{share:.3f}" for name, share in shares.items()}


def _shares(text: str) -> list[float]:
    """The shares of ``--zeros``, rising. Raises UsageError for what is no list of shares of 1."""
    try:
        found = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        raise UsageError(f"--zeros: {text!r} is not a list of shares such as {ZEROS}") from None
    if not found or not all(0 <= share < 1 for share in found):
        raise UsageError(f"--zeros: {text!r}: shares are from 0 to less than 1, such as {ZEROS}")
    return found
