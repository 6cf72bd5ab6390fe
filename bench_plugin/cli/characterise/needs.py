"""``bench needs MODEL``: operations, weights, memory and operational intensity of a model and of its layers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.needs import Layer, Needs, intensity, needs
from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.model_facts import read_facts
from bench_plugin.cli.shared.output import note, print_json, print_table, shown
from bench_plugin.cli.shared.predicting.needs_page import models_page
from bench_plugin.domain.errors import UsageError

HELP = "count the operations, weights and tensors of a model, layer by layer"
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
MOST_BITS = 64
ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """MODEL, and at which sizes it is counted."""
    parser.add_argument(
        "model", metavar="MODEL.onnx",
        help="the file, whose weights are not read; or a registered model (bench list models), or all with --page",
    )  # fmt: skip
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="inputs per run (default %(default)s)")
    parser.add_argument(
        "--sizes", default="", metavar="NAME=N,…", help="sizes of symbolic dimensions other than the batch"
    )
    parser.add_argument(
        "--bits", type=int, default=0, metavar="N",
        help="bits that a floating-point element is stored in (default: as the file says)",
    )  # fmt: skip
    parser.add_argument("--layers", action="store_true", help="print every layer, too")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page of registered models: one, or all")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the needs; 0 also for a lower bound, which says so. Raises UsageError for a batch or bits out of range."""
    if args.batch < 1:
        raise UsageError(f"--batch: {args.batch} is not a positive number")
    if not 0 <= args.bits <= MOST_BITS:
        raise UsageError(f"--bits: {args.bits} is not a number from 1 to {MOST_BITS}")
    if args.page:
        return _page(args)
    facts = _facts(args)
    found = needs(facts, batch=args.batch, bits=args.bits)
    if args.json:
        print_json({**asdict(found), "intensity": intensity(found)})
        return 0
    if args.layers:
        print_table([_row(one) for one in found.layers], list(_row(found.layers[0])) if found.layers else [])
        print()
    _print(args.model, found)
    return 0


def _print(model: str, found: Needs) -> None:
    at_least = "at least " if found.lower_bound else ""
    stored = f"{found.bits} bits per element" if found.bits else "types of the file"
    print(f"{model}, batch {found.batch}, {stored}; 1 multiply-add = 2 operations")
    print(
        f"operations        {at_least}{amount(found.operations)} of convolutions and fully connected layers, no biases"
    )
    print(f"other operations  {at_least}{amount(found.other_operations)}: {_kinds(found.by_kind)}")
    print(
        f"weights           {amount(found.weights)} of these layers; {amount(found.parameters)} constants in the file"
    )
    memory = found.memory
    print(
        f"memory            {storage(memory.weights)} constants, {storage(memory.tensors)} tensors between layers, "
        f"{storage(memory.alive)} alive at once"
    )
    for assumption, figure in intensity(found).items():
        print(f"intensity         {figure:.4g} operations per byte ({assumption})")
    for reason, count in found.not_counted.items():
        print(f"not counted       {count} x {reason}")


def amount(count: int) -> str:
    """A count with four digits and its unit.

    >>> amount(938), amount(7_720_000_000)
    ('938', '7.72 G')
    """
    scale, unit = next((pair for pair in UNITS if count >= pair[0]), (1, ""))
    return f"{count / scale:.4g} {unit}".rstrip()


def storage(count: int) -> str:
    """Bytes with three digits and their unit.

    >>> storage(512), storage(3 << 20)
    ('512 bytes', '3 MiB')
    """
    scale, unit = next((pair for pair in BYTES if count >= pair[0]), (1, "bytes"))
    return f"{count / scale:.3g} {unit}"


def _kinds(by_kind: Mapping[str, int]) -> str:
    return ", ".join(f"{amount(count)} {kind}" for kind, count in by_kind.items()) or "none"


def _row(one: Layer) -> dict[str, object]:
    others = one.not_counted or _kinds(one.other_operations)
    shape = " x ".join("?" if size is None else str(size) for size in one.shape or ())
    return {
        "layer": one.name, "operator": one.operator, "shape": shape,
        "operations": one.operations, "weights": one.weights, "other_operations": others, "tensors": one.tensors,
    }  # fmt: skip


def sizes_of(text: str) -> dict[str, int]:
    """Sizes by name. Raises UsageError for what is no list of NAME=N."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, size = part.rpartition("=")
        if not name or not size.isdigit() or not int(size):
            raise UsageError(f"--sizes: {part!r} is not NAME=N with a positive whole number")
        found[name] = int(size)
    return found


def _facts(args: argparse.Namespace) -> Facts:
    """The facts of the file, or of the registered model. Raises UsageError as their readers do."""
    sizes = sizes_of(args.sizes)
    if _is_file(args.model):
        return read_facts(Path(args.model), batch=args.batch, sizes=sizes)
    if sizes:
        raise UsageError("--sizes goes with an ONNX file; a registered model says its own sizes")
    # It imports the pipeline and numpy, a fifth of a second that a file does not need.
    from bench_plugin.cli.shared.registered_models import facts_of

    return facts_of(args.model, args.batch)


def _page(args: argparse.Namespace) -> int:
    """Write the page of one registered model, or of all. Raises UsageError for a file."""
    if _is_file(args.model):
        raise UsageError("--page goes with registered models: name one, or all")
    from bench_plugin.cli.shared.registered_models import registered_models

    with registered_models() as models:
        names = sorted(models.workspace.models) if args.model == ALL else [args.model]
        text = models_page([(models.workspace.models[name], models.facts(name)) for name in names])
    args.page.parent.mkdir(parents=True, exist_ok=True)
    args.page.write_text(text, "utf-8")
    note(f"wrote {shown(args.page)}")
    return 0


def _is_file(model: str) -> bool:
    return model.endswith(".onnx") or Path(model).is_file()
