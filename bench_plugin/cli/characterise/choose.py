"""``bench choose FILES… --max-latency 10ms``: choose a deployment by constraints, and say why the others fell out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from bench_plugin.characterise.choice import weights
from bench_plugin.characterise.choice.candidate import BY_NAME, QUANTITIES, Candidate
from bench_plugin.characterise.choice.completing import completed
from bench_plugin.characterise.choice.constraints import Constraint, Limit, Required, Right
from bench_plugin.characterise.choice.decision import ACCURACY, Decision, decide
from bench_plugin.characterise.choice.predictions import Prediction, is_predictions, read_predictions
from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.domain.texts.choices import hint

if TYPE_CHECKING:
    from bench_plugin.results.rows import Row

HELP = "choose a deployment of a model by constraints, from measured rows and predictions, with the reasons"
NOTHING, UNDECIDED = 1, 3  # exit codes: none satisfies all constraints; none is known to
AGAINST = [one.name for one in QUANTITIES if one.name not in ("accuracy", "drop")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, the constraints, what accuracy is traded for, weights, and a picture."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE",
        help="results files, run ids, folders of results, and predictions (what bench predict --json prints); default: "
        "the results of the last run",
    )  # fmt: skip
    parser.add_argument("--models", default="", metavar="NAME,…", help="of these models alone (of one task)")
    for quantity in QUANTITIES:
        said = f"the {'least' if quantity.more else 'most'} {quantity.name}: {quantity.meaning}; "
        example = f"such as {quantity.unit.example}".replace("%", "%%")
        parser.add_argument(quantity.option, dest=f"limit_{quantity.name}", metavar="N", help=said + example)
    parser.add_argument(
        "--require", action="append", default=[], metavar="NAME=VALUE|…",
        help="an axis or an attribute of the target must have one of these values: compiler, precision, target, mode, "
        "architecture, os, vendor, soc, core, isa, runtime, bare_metal ...; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--against", choices=AGAINST, default="latency", help="what accuracy is traded for (default %(default)s)"
    )
    parser.add_argument("--weights", default="", metavar="NAME=N,…", help="weigh figures, as in latency=2,accuracy=1")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="draw the choice: FILE.svg, or FILE.json (Vega-Lite)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the choice; 1 where no candidate satisfies all constraints, 3 where none is known to.

    Raises UsageError for files, bounds and weights that are wrong, and EnvironmentMissing for a picture as SVG without
    the extra ``report``.
    """
    limits = _limits(args)
    given = weights.parse(args.weights) if args.weights else None
    required = [_required(text) for text in args.require]
    if args.picture is not None and args.picture.suffix not in (".svg", ".json"):
        raise UsageError(f"--picture: {args.picture} ends neither with .svg nor with .json")
    candidates = _candidates(args.files, args.models)
    _check_attributes(candidates, required)
    constraints: list[Constraint] = [Right(), *limits, *required]
    decision = decide(candidates, constraints, against=BY_NAME[args.against], weights=given)
    if args.json:
        print_json(decision.plain())
    else:
        from bench_plugin.cli.shared.choosing.words import print_decision

        print_decision(decision, limits)
    if args.picture is not None:
        _draw(decision, args.picture)
    if decision.of("kept"):
        return 0
    return UNDECIDED if decision.of("undecided") else NOTHING


def _limits(args: argparse.Namespace) -> list[Limit]:
    """The bounds that are given. Raises UsageError, with the option, for one that is no quantity of its kind."""
    found = []
    for quantity in QUANTITIES:
        if (text := getattr(args, f"limit_{quantity.name}")) is not None:
            try:
                found.append(Limit(quantity, quantity.unit.parse(text)))
            except UsageError as error:
                raise UsageError(f"{quantity.option}: {error}") from error
    return found


def _required(text: str) -> Required:
    name, sign, values = text.partition("=")
    found = tuple(one.strip() for one in values.split("|") if one.strip())
    if not name.strip() or not sign or not found:
        raise UsageError(f"--require: {text!r} is not NAME=VALUE, as in architecture=aarch64 or os=Linux|Raspbian")
    return Required(name.strip(), found)


def _candidates(names: Sequence[str], models: str) -> list[Candidate]:
    """All candidates of the files. Raises UsageError for a file that is wrong, and where there is no candidate."""
    from bench_plugin.cli.shared.choosing.rows import entries_of, machines, measured_candidates, references
    from bench_plugin.cli.shared.choosing.targets import Targets
    from bench_plugin.inventory.workspace import Workspace

    settings = settings_here()
    rows, predictions = _read(names or [str(settings.results)], settings.results)
    entries = entries_of(rows)
    if not entries and not predictions:
        raise UsageError(
            "no file has a compiled model or a prediction: run suites/performance and suites/quality, or bench predict "
            "--json > predictions.json"
        )
    wanted = _models({str(one.cell["model"]) for one in entries} | {one.places["model"] for one in predictions}, models)
    entries = [one for one in entries if one.cell["model"] in wanted]
    predictions = [one for one in predictions if one.places["model"] in wanted]
    targets = Targets(Workspace.load(settings), machines(rows))
    return completed(measured_candidates(entries, targets), predictions, targets.published, references(entries))


def _read(names: Sequence[str], configured: Path) -> tuple[list[Row], list[Prediction]]:
    """Rows and predictions of files, folders and run ids, which may be mixed in any order."""
    from bench_plugin.results.checking.reading import read_source, sources
    from bench_plugin.results.history import find_run

    rows: list[Row] = []
    predictions: list[Prediction] = []
    for name in names:
        path = Path(name) if Path(name).exists() else find_run(name, configured)
        if path.is_file() and is_predictions(path):
            predictions += read_predictions(path)
        else:
            rows += [row for source in sources([path]) for row in read_source(source, note)]
    return rows, predictions


def _models(known: Set[str], names: str) -> Set[str]:
    """The models to choose from. Raises UsageError for an unknown one, and for several where none is named."""
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    for name in sorted(wanted - known):
        raise UsageError(f"--models: nothing is known of {name!r}; {hint(name, sorted(known))}")
    if not wanted and len(known) > 1:
        raise UsageError(
            f"the files are of {len(known)} models ({', '.join(sorted(known))}), whose accuracies may be of different "
            "tasks: say with --models which ones to choose from"
        )
    return wanted or known


def _check_attributes(found: Sequence[Candidate], required: Sequence[Required]) -> None:
    """Raises UsageError for an attribute that no candidate has: it would leave everything undecided."""
    known = sorted({name for one in found for name in (*one.places, *one.attributes)})
    for one in required:
        if one.attribute not in known:
            raise UsageError(f"--require: no candidate has {one.attribute!r}; {hint(one.attribute, known)}")


def _draw(decision: Decision, path: Path) -> None:
    """The picture as a file. Raises UsageError where no candidate has both figures of it."""
    from bench_plugin.cli.shared.choosing.picture import records, specification
    from bench_plugin.report.pictures.picture import with_rows
    from bench_plugin.report.pictures.svg import drawn

    rows = records(decision)
    if not rows:
        missing = f"no candidate has both {decision.against.name} and {ACCURACY.name}"
        raise UsageError(f"--picture: {missing}; run suites/quality, or say --against")
    drawing = specification(decision.against)
    text = json.dumps(with_rows(drawing, rows), indent=1) if path.suffix == ".json" else drawn(drawing, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", "utf-8")
    note(f"wrote {shown(path)}")
