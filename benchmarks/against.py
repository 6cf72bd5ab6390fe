"""How often does a comparison of times raise a false alarm, and how often does it find a slowdown of 10 %?

    python benchmarks/against.py --pairs 100 --output reports/against.jsonl
    python benchmarks/against.py --stored 100 --output reports/against.jsonl
    python benchmarks/against.py --table --output reports/against.jsonl

A pair in turn compiles and deploys the same model twice and measures the two artefacts as ``--bench-against`` does:
once as they are (A/A), and once with busy time of 10 % inside the timed region of the second, interleaved. A stored
pair is two runs as ``pytest suites/performance`` takes them, one after the other, compared as ``bench compare`` does;
the 10 % are added to the seconds of the second. Results are appended to the output, so that an interrupted run goes on
where it ended. The table has binomial intervals of 95 % by Clopper and Pearson. ``--bursts`` lets other processes
compete for the machine in bursts meanwhile.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.checks.performance.against import resident
from bench_plugin.checks.performance.against.sides import Side
from bench_plugin.checks.performance.against.stored import stored_beside
from bench_plugin.checks.performance.effort import effort
from bench_plugin.checks.performance.launches import Launcher
from bench_plugin.checks.performance.rotation import rotating
from bench_plugin.checks.protocol import Parts, Request
from bench_plugin.compare.times import stored
from bench_plugin.compare.times.turns import BASE, HEAD
from bench_plugin.domain.cell import Check
from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.domain.settings import Selection, read_settings_file
from bench_plugin.domain.thresholds import FASTER, MAX_SLOWDOWN, SLOWER, TOO_NOISY
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done
from bench_plugin.session.session import Run

ROOT = Path(__file__).resolve().parents[1]
INJECTED = 0.10
ALARMS = (SLOWER, FASTER)
BURST = """
import random, time
while True:
    end = time.perf_counter() + random.uniform(0.05, 0.5)
    while time.perf_counter() < end:
        pass
    time.sleep(random.uniform(0.1, 1.0))
"""


def main() -> int:
    """0; 2 where the selection gives no cell that can be timed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pairs", type=int, default=0, help="pairs in turn that the output has in the end, of each kind"
    )
    parser.add_argument("--stored", type=int, default=0, help="pairs of stored runs that it has in the end")
    parser.add_argument("--minutes", type=float, default=0.0, help="end after so many minutes (default: no limit)")
    parser.add_argument("--model", default="mobilenet_v2")
    parser.add_argument("--framework", default="pytorch")
    parser.add_argument("--compiler", default="onnxruntime")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bursts", action="store_true", help="let two other processes compete in bursts")
    parser.add_argument("--cache", type=Path, default=None, help="cache of stages (default: the user's)")
    parser.add_argument("--output", type=Path, default=ROOT / "reports/against.jsonl")
    parser.add_argument("--table", action="store_true", help="print the table of the output, and measure nothing")
    args = parser.parse_args()
    code = 0 if args.table else _measure(args)
    if args.output.exists():
        print(table(_lines(args.output)))
    return code


def _measure(args: argparse.Namespace) -> int:
    selection = Selection(
        profile="quick", models=(args.model,), frameworks=(args.framework,), compilers=(args.compiler,),
        precisions=("fp32",),
    )  # fmt: skip
    args.output.parent.mkdir(parents=True, exist_ok=True)
    settings = replace(
        read_settings_file(ROOT), selection=selection, threads=args.threads, cache=args.cache,
        results=args.output.absolute().parent / "against-run/results.jsonl",
    )  # fmt: skip
    run = Run(settings, worker="", command=sys.argv, note=lambda text: print(text, file=sys.stderr))
    cells = run.plan(Check.TIMING, {}).cells
    if not cells:
        print("this selection has no cell that can be timed", file=sys.stderr)
        return 2
    try:
        parts: Parts = run.engine._parts  # no public way in: nobody else compiles one cell again and again
        outcome = CompiledModels(parts).run(Request(cells[0]), _Proof(parts, args).judged)
        if outcome.status is not Status.SUPPORTED:
            print(f"{cells[0].id}: {outcome.status}: {outcome.reason}", file=sys.stderr)
    finally:
        run.engine.close()
    return 0


class _Proof:
    """Takes the pairs of one compiled cell and appends them to the output."""

    def __init__(self, parts: Parts, args: argparse.Namespace) -> None:
        self._parts = parts
        self._models = CompiledModels(parts)
        self._launcher = Launcher(parts, self._models, effort("quick"))
        self._args = args
        self._estimate = 0.0
        self._until = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")

    def judged(self, run: CellRun, found: Compiled) -> Outcome:
        """Take pairs until there are enough; the outcome says only whether that went well."""
        with _bursts(self._args.bursts):
            for kind, wanted, take in (
                ("turn", self._args.pairs, self._pair), ("stored", self._args.stored, self._stored)
            ):  # fmt: skip
                left = wanted - self._have(kind)
                while left > 0 and time.monotonic() < self._until:
                    for line in take(run, found):
                        self._append({**self._about(kind), **line})
                    left -= 1
        return run.log.outcome(Status.SUPPORTED)

    def _pair(self, run: CellRun, found: Compiled) -> Iterator[Mapping[str, Any]]:
        """An A/A pair and one with the injected slowdown, each compiled and deployed again."""
        fastest = self._estimate = self._estimate or self._estimated(run, found)
        for injected in (0.0, INJECTED):
            began = time.monotonic()
            sides = {
                name: self._side(run, found, name, injected * fastest if name == HEAD else 0.0) for name in (BASE, HEAD)
            }
            compiled = time.monotonic()
            with self._parts.admission.alone():
                taken = resident.in_turn(self._parts.pool, sides, MAX_SLOWDOWN, fastest)
            fastest = taken.samples.minimum(BASE)
            yield {
                "injected": injected, "verdict": taken.compared.verdict, "d": taken.compared.d,
                "half_width": taken.compared.half_width, "rounds": taken.rounds, "seconds": taken.seconds,
                "start": taken.start_seconds, "compile": compiled - began, "fastest": fastest,
            }  # fmt: skip

    def _side(self, run: CellRun, found: Compiled, name: str, busy: float) -> Side:
        """A side whose artefact was compiled again, by a fresh process."""
        compiled = self._compiled_again(run, found)
        inputs = rotating(found.subject.inputs, 8, self._parts.settings.seed)
        given = replace(found.subject.inputs, arrays=inputs.arrays)
        task = self._models.compile_tasks.run(
            run.cell, found.subject, compiled, self._launcher.limits(run), inputs=given
        )
        return Side(name, task, "", dict(compiled.digests), busy)

    def _compiled_again(self, run: CellRun, found: Compiled) -> Done:
        task = self._models.compile_tasks.compile(
            run.cell, found.subject, self._models.limits(run), calibration=found.calibration
        )
        task = replace(task, parts={**task.parts, "repetition": secrets.token_hex(8)})
        done = run.recorder.obtain(run.cell, "compile", task, fresh=True)
        if done.failure is not None:
            raise SystemExit(f"compiling again failed: {done.failure.message}")
        return done

    def _estimated(self, run: CellRun, found: Compiled) -> float:
        """About what an inference takes, before the first pair has said it."""
        quick = Launcher(self._parts, self._models, effort("smoke")).taken(run, found)
        return min(float(one.said["median"]) for one in quick.launches)

    def _stored(self, run: CellRun, found: Compiled) -> Iterator[Mapping[str, Any]]:
        """Two runs as a results file keeps them."""
        for _ in range(2):
            began = time.monotonic()
            taken = self._launcher.taken(run, replace(found, compiled=self._compiled_again(run, found)))
            compute: dict[str, Any] = {"launch_medians": [float(one.said["median"]) for one in taken.launches]}
            beside = stored_beside(compute, taken.launches)
            yield {**compute, "calibration": beside["calibration"]["seconds"], "seconds": time.monotonic() - began}

    def _have(self, kind: str) -> int:
        """How many pairs of this kind and these settings the output has already."""
        about = self._about(kind)
        lines = _lines(self._args.output) if self._args.output.exists() else []
        return sum(all(line.get(name) == value for name, value in about.items()) for line in lines) // 2

    def _about(self, kind: str) -> dict[str, Any]:
        names = ("model", "framework", "compiler", "threads", "bursts")
        return {"kind": kind, **{name: getattr(self._args, name) for name in names}}

    def _append(self, line: Mapping[str, Any]) -> None:
        with self._args.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        if line["kind"] == "turn":
            shown = f"{line['d']:+.2%} ± {line['half_width']:.2%}, {line['rounds']} rounds, {line['seconds']:.1f} s"
            print(f"injected {line['injected']:.0%}: {line['verdict']}, {shown}", flush=True)
        else:
            print(f"stored run: {statistics.median(line['launch_medians']) * 1e3:.3f} ms", flush=True)


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """The table of docs/comparison.md, from the lines of an output."""
    heads = (
        "how", "model", "beside", "A/A", "false alarms (95 %)", "too noisy", "+10 %", "found (95 %)",
        "seconds, longest",
    )  # fmt: skip
    rows = []
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for line in lines:
        place = (line["kind"], line["model"], line["compiler"], line["threads"], line["bursts"])
        groups.setdefault(place, []).append(line)
    for (kind, model, compiler, threads, bursts), found in groups.items():
        about = (
            f"{model}, {compiler}, {threads} thread{'s' if threads > 1 else ''}",
            "bursts" if bursts else "nothing",
        )
        if kind == "turn":
            same, slow = ([one for one in found if bool(one["injected"]) is on] for on in (False, True))
            seconds = [one["seconds"] for one in found]
            said = [one["verdict"] for one in same], [one["verdict"] for one in slow]
            rows.append(("in turn", *about, *_counts(*said), f"{statistics.median(seconds):.1f}, {max(seconds):.1f}"))
            continue
        ways: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any], float], str]] = {
            "stored": _calibrated, "stored, without calibration": _plain,
        }  # fmt: skip
        neighbours = list(pairwise(found))
        distant = [(one, found[(number + len(found) // 2) % len(found)]) for number, one in enumerate(found)]
        for name, chosen in (("one after the other", neighbours), ("half the runs apart", distant)):
            for way, compare in ways.items():
                said = [compare(*pair, 1.0) for pair in chosen], [compare(*pair, 1 + INJECTED) for pair in chosen]
                rows.append((f"{way}, {name}", *about, *_counts(*said), "–"))
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, tuple("---" for _ in heads), *rows))


def _counts(same: Sequence[str], slow: Sequence[str]) -> tuple[str, ...]:
    alarms, found = sum(one in ALARMS for one in same), sum(one == SLOWER for one in slow)
    noisy = f"{sum(one == TOO_NOISY for one in same)} and {sum(one == TOO_NOISY for one in slow)}"
    return (str(len(same)), _rate(alarms, len(same)), noisy, str(len(slow)), _rate(found, len(slow)))


def _calibrated(base: Mapping[str, Any], head: Mapping[str, Any], factor: float) -> str:
    slower = [one * factor for one in head["launch_minima"]]
    return stored.compared(
        base["launch_minima"], slower, base_calibration=base["calibration"], head_calibration=head["calibration"]
    ).verdict


def _plain(base: Mapping[str, Any], head: Mapping[str, Any], factor: float) -> str:
    return stored.compared(base["launch_minima"], [one * factor for one in head["launch_minima"]]).verdict


def _rate(count: int, total: int) -> str:
    """A count with the 95 % interval of its rate, by Clopper and Pearson."""
    from scipy.stats import beta

    if not total:
        return "–"
    low = float(beta.ppf(0.025, count, total - count + 1)) if count else 0.0
    high = float(beta.ppf(0.975, count + 1, total - count)) if count < total else 1.0
    return f"{count} ({low:.1%} to {high:.1%})"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


@contextmanager
def _bursts(wanted: bool) -> Iterator[None]:
    others = [subprocess.Popen([sys.executable, "-c", BURST]) for _ in range(2 if wanted else 0)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


if __name__ == "__main__":
    sys.exit(main())
