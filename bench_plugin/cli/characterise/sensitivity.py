"""``bench sensitivity MODEL``: which layers suffer most from fewer bits, and which a quantiser should leave alone.

This is not the gate of checks/sensitivity.py, which asks whether a comparison would notice a wrong model.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from bench_plugin.characterise.sensitivity.assignment import Bound, excluding, greedy
from bench_plugin.characterise.sensitivity.deployed import ByDepth, Deployed, beyond_rounding, by_depth
from bench_plugin.characterise.sensitivity.exclusion import FORMS, CannotExclude, written
from bench_plugin.characterise.sensitivity.findings import ranked
from bench_plugin.cli.shared.arguments import add_json, completed_by
from bench_plugin.cli.shared.names import compilers as known_compilers
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.cli.shared.sensitivity.deployed import Deployment, compilers
from bench_plugin.cli.shared.sensitivity.emulated import Emulation
from bench_plugin.cli.shared.sensitivity.printed import page, print_study
from bench_plugin.cli.shared.sensitivity.studied import CannotMeasure, Machine, chosen, study
from bench_plugin.cli.shared.sensitivity.study import Study
from bench_plugin.domain.errors import UsageError

HELP = "rank the layers of a model by what quantising them alone costs, and say which to leave in floating point"
LEAST_BITS, MOST_BITS = 2, 16
MAX_DROP, MAX_ERROR = 0.01, 0.1  # the bound where none is given: of a model with a task, and of one without
TOP = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """MODEL, the widths, the inputs of a file, the bound, and what is written."""
    parser.add_argument("model", metavar="MODEL", help="a model of the project by its name, or an ONNX file")
    parser.add_argument(
        "--bits", default="8,4,2", metavar="N,…",
        help=f"bits to round weights and activations to, from {LEAST_BITS} to {MOST_BITS} (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--framework", default="", metavar="NAME", help="whose model it is (default: the trained one)")
    parser.add_argument("--inputs", type=Path, metavar="FILE.npz", help="the inputs of an ONNX file, by their names")
    parser.add_argument("--labels", type=Path, metavar="FILE.npy", help="the right class of each of these inputs")
    parser.add_argument(
        "--max-drop", type=float, metavar="SHARE",
        help=f"most that the metric may drop, with its 95 %% interval (default {MAX_DROP} where there is a task)",
    )  # fmt: skip
    parser.add_argument(
        "--max-error", type=float, metavar="E",
        help=f"most that E of the outputs may be (default {MAX_ERROR} where there is no task)",
    )  # fmt: skip
    action = parser.add_argument(
        "--compilers", default="", metavar="NAME,…",
        help="also compile and run every layer, quantised to 8 bits, with these compilers; all: each that can",
    )  # fmt: skip
    parser.add_argument("--exclude-for", choices=FORMS, help="write the layers to leave alone in the form of this tool")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where --exclude-for writes")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write everything as a page in Markdown, too")
    parser.add_argument(
        "--top", type=int, default=TOP, metavar="ROWS", help="rows of the ranking (default %(default)s)"
    )
    add_json(parser)
    completed_by(action, known_compilers)


def run(args: argparse.Namespace) -> int:
    """Print the study; 1 when a compiler computes a layer otherwise than rounding explains, or cannot run it.

    Raises UsageError for what does not fit, CannotMeasure where there is nothing to measure.
    """
    bits = widths(args.bits)
    _check(args)
    settings, workspace, model = chosen(args.model, args.inputs)
    machine = Machine(settings, workspace, note)
    try:
        names = compilers(machine, [name for name in args.compilers.split(",") if name])
        studied = study(machine, model, args.framework, args.labels)
        bound = bound_of(args.max_drop, args.max_error, task=studied.labels is not None)
        emulation = Emulation(machine, studied)
        findings = emulation.findings(bits, note)
        assigned = greedy(emulation.layers, findings, bound, emulation.measure)
        excluded = excluding(emulation.layers, findings, bound, emulation.measure)
        alone, together = _deployed(Deployment(machine, emulation), names)
    finally:
        machine.close()
    found = Study(
        model=model.name, framework=studied.cell.framework, samples=emulation.samples,
        task="" if studied.labels is None else "drop of top-1 accuracy", bits=bits, layers=emulation.layers,
        untouched=emulation.untouched, findings=ranked(findings), bound=bound, assigned=assigned,
        excluded=excluded, alone=alone, together=together,
    )  # fmt: skip
    if args.json:
        print_json(found.plain())
    else:
        print_study(found, args.top)
    _write(args, found)
    failed = [one for one in (*alone, *(one.whole for one in together)) if one.failure]
    return 1 if failed or beyond_rounding(alone) else 0


def widths(text: str) -> tuple[int, ...]:
    """The numbers of bits in a list, the largest first. Raises UsageError for one that is out of range."""
    found = set()
    for part in text.split(","):
        if not part.strip().isdigit() or not LEAST_BITS <= int(part) <= MOST_BITS:
            raise UsageError(f"--bits: {part.strip()!r} is not a whole number from {LEAST_BITS} to {MOST_BITS}")
        found.add(int(part))
    return tuple(sorted(found, reverse=True))


def bound_of(max_drop: float | None, max_error: float | None, *, task: bool) -> Bound:
    """The bound that is asked for, or the usual one. Raises UsageError for a drop of a model without a task."""
    if max_drop is not None and not task:
        raise UsageError("--max-drop: the model has no task here, so it has E only; use --max-error (or give --labels)")
    if max_drop is None and max_error is None:
        return Bound(max_drop=MAX_DROP) if task else Bound(max_error=MAX_ERROR)
    return Bound(max_drop, max_error)


def _check(args: argparse.Namespace) -> None:
    """Raises UsageError for options that are wrong whatever the model is."""
    if (args.exclude_for is None) is not (args.output is None):
        raise UsageError("--exclude-for FORM and -o FILE go together: the form of a list, and the file to write it to")
    for option, value in (("--max-drop", args.max_drop), ("--max-error", args.max_error)):
        if value is not None and not value >= 0:
            raise UsageError(f"{option}: {value:g} is not a number from 0")
    if args.top < 1:
        raise UsageError(f"--top: {args.top} is not a positive number")


def _deployed(deployment: Deployment, names: list[str]) -> tuple[list[Deployed], list[ByDepth]]:
    alone = [one for name in names for one in deployment.alone(name, note)]
    return alone, [by_depth(deployment.together(name)) for name in names]


def _write(args: argparse.Namespace, found: Study) -> None:
    """Write the list of layers and the page that were asked for. Raises CannotMeasure for a layer without a name."""
    if args.exclude_for:
        try:
            text = written(args.exclude_for, found.left_out)
        except CannotExclude as error:
            raise CannotMeasure(str(error)) from error
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text, "utf-8")
        note(f"wrote {shown(args.output)}")
    if args.page:
        args.page.parent.mkdir(parents=True, exist_ok=True)
        args.page.write_text(page(found, _command(args)), "utf-8")
        note(f"wrote {shown(args.page)}")


def _command(args: argparse.Namespace) -> str:
    """The command that made a page, as a user would write it."""
    words = ["bench", "sensitivity", args.model, "--bits", args.bits]
    for option in ("framework", "inputs", "labels", "max_drop", "max_error", "compilers"):
        value = getattr(args, option)
        words += [f"--{option.replace('_', '-')}", str(value)] if value not in (None, "") else []
    return shlex.join([*words, "--page", str(args.page)])
