"""``bench predict``: inputs per second of models on targets by the roofline, pictures of it, and how well it fits."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from bench_plugin.characterise.prediction.datatypes import USUAL
from bench_plugin.characterise.prediction.predict import ASSUMPTIONS, AUTOMATIC, ON_CHIP, WEIGHTS_OFF, Prediction
from bench_plugin.characterise.prediction.published import MEASUREMENTS, TOPOLOGIES
from bench_plugin.characterise.prediction.scores import Pair, Score, scored
from bench_plugin.cli.characterise.needs import amount, storage
from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json, print_table, shown
from bench_plugin.cli.shared.predicting.grid import Empty, Grid, grid_of
from bench_plugin.cli.shared.predicting.measured_rows import pairs_of, published_pairs
from bench_plugin.cli.shared.predicting.page import published_page
from bench_plugin.cli.shared.predicting.pictures import write_pictures
from bench_plugin.cli.shared.predicting.refined import is_published, plain_refined, print_refined
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.results.rows import finite, read_rows

HELP = "predict inputs per second of models on targets, and score predictions against what was measured"
ALL = "all"
COLUMNS = (
    "model", "precision", "target", "mode", "inputs/s", "bound", "peak", "bandwidth", "operations", "bytes", "basis",
    "assumes",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Models, targets and precisions; the assumption; and what is made of it."""
    parser.add_argument(
        "--models", default="", metavar="NAME,…", help="registered models, ONNX files, or all (see bench list models)"
    )
    parser.add_argument(
        "--targets", default=ALL, metavar="NAME,…", help="targets or boards, or all that have peaks (default all)"
    )
    parser.add_argument(
        "--precisions", default=",".join(USUAL), metavar="NAME,…",
        help="precisions, or datatypes of peaks such as int4 (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="inputs per run (default %(default)s)")
    parser.add_argument(
        "--storage", choices=list(ASSUMPTIONS), default=WEIGHTS_OFF,
        help=f"what lies on the chip (default %(default)s; {AUTOMATIC}: what fits there)",
    )  # fmt: skip
    parser.add_argument(
        "--count", choices=("layers", "everything"), default="layers",
        help="layers: convolutions and fully connected layers, as published; everything: operations of every kind",
    )  # fmt: skip
    parser.add_argument(
        "--peaks", choices=("measured", "datasheet"), default="measured",
        help="measured: where there are some, in place of published ones (default); datasheet: published ones alone",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, metavar="ROWS", help="score predictions against these measured rows")
    parser.add_argument(
        "--published", type=Path, metavar="FOLDER",
        help="score predictions of published topologies against the published measurements in this folder",
    )  # fmt: skip
    parser.add_argument(
        "--refine", type=Path, metavar="ROWS|FOLDER",
        help="multiply predictions by the share of theirs that other models reached: in these measured rows, or in a "
        "folder of published tables",
    )  # fmt: skip
    parser.add_argument("--page", type=Path, metavar="FILE", help="with --published: write the page of it here")
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="write roofline and heat map here, as SVG and Vega-Lite"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the predictions, or the scores; 3 where nothing could be predicted. Raises UsageError."""
    if args.batch < 1:
        raise UsageError(f"--batch: {args.batch} is not a positive number")
    if args.refine and (args.results or args.published or not args.models):
        raise UsageError("--refine goes with --models, and without --results and --published")
    if args.published:
        return _published(args)
    if args.page:
        raise UsageError("--page goes with --published")
    if not args.models and not args.results:
        raise UsageError("--models: name models, ONNX files, or all")
    found = grid_of(
        settings_here(), models=_models(args), targets=_names(args.targets), precisions=_names(args.precisions),
        batch=args.batch, storage=args.storage, everything=args.count == "everything",
        measured=args.peaks == "measured",
    )  # fmt: skip
    if args.pictures:
        for path in write_pictures(args.pictures, found):
            note(f"wrote {shown(path)}")
    pairs = _own_pairs(args.results, found) if args.results else []
    others = _pairs_to_fit(args) if args.refine else []
    if args.json:
        more = plain_refined(found.predictions, others) if args.refine else {}
        print_json({**_plain(found, pairs, scored(pairs)), **more})
    elif args.results:
        _print_scores(pairs)
    else:
        _print(found)
        if args.refine:
            print_refined(found.predictions, others)
    return 0 if (pairs if args.results else found.predictions) else 3


def _published(args: argparse.Namespace) -> int:
    for name in (TOPOLOGIES, MEASUREMENTS):
        if not (args.published / name).is_file():
            raise UsageError(f"--published: {args.published} has no file {name}")
    pairs = published_pairs(settings_here(), args.published, args.storage)
    ours: list[Pair] = []
    if args.results:
        found = grid_of(
            settings_here(), models=_models(args), targets=(ALL,),
            precisions=_names(args.precisions), batch=1, storage=args.storage, everything=False, measured=True,
        )  # fmt: skip
        ours = _own_pairs(args.results, found)
    if args.page:
        on_chip = published_pairs(settings_here(), args.published, ON_CHIP)
        args.page.parent.mkdir(parents=True, exist_ok=True)
        args.page.write_text(published_page(args.published, pairs, on_chip, ours), "utf-8")
        note(f"wrote {shown(args.page)}")
    elif args.json:
        print_json({"scores": [asdict(one) for one in scored([*pairs, *ours])], "pairs": _pairs([*pairs, *ours])})
    else:
        _print_scores([*pairs, *ours])
    return 0


def _own_pairs(results: Path, found: Grid) -> list[Pair]:
    """The pairs of measured rows with the models and targets of the grid."""
    models = Workspace.load(settings_here()).models
    return pairs_of(found, read_rows(results).rows, {name: one.task for name, one in models.items()})


def _pairs_to_fit(args: argparse.Namespace) -> list[Pair]:
    """The pairs that ``--refine`` fits on: every model of the rows or of the published tables that is known."""
    if is_published(args.refine):
        return published_pairs(settings_here(), args.refine, args.storage)
    named = _names(args.models)
    models = named if ALL in named else list(dict.fromkeys([*_measured_models(args.refine), *named]))
    found = grid_of(
        settings_here(), models=models, targets=_names(args.targets), precisions=_names(args.precisions),
        batch=args.batch, storage=args.storage, everything=args.count == "everything",
        measured=args.peaks == "measured",
    )  # fmt: skip
    return _own_pairs(args.refine, found)


def _models(args: argparse.Namespace) -> list[str]:
    """The models that are named, else the registered ones of the timed rows."""
    return _names(args.models) if args.models else _measured_models(args.results)


def _measured_models(results: Path) -> list[str]:
    """The registered models of the timed rows."""
    rows = read_rows(results).rows
    timed = (row for row in rows if row.get("kind") == "cell" and (row.get("numbers") or {}).get("timing"))
    found = list(dict.fromkeys(str(row["cell"]["model"]) for row in timed))
    known = Workspace.load(settings_here()).models
    if unknown := [name for name in found if name not in known]:
        note(f"left out, because no registered model has the name: {', '.join(unknown)}")
    return [name for name in found if name in known]


def _print(found: Grid) -> None:
    numbers = {
        text: number for number, text in enumerate(dict.fromkeys(one.assumption for one in found.predictions), 1)
    }
    print_table([{**_row(one), "assumes": f"[{numbers[one.assumption]}]"} for one in found.predictions], COLUMNS)
    print()
    for text, number in numbers.items():
        print(f"[{number}] {text}")
    for source in dict.fromkeys(
        source for one in found.predictions for source in (one.peak_source, one.bandwidth_source) if source
    ):
        print(f"source: {source}")
    for line in _reasons(found.empty):
        note(line)


def _row(one: Prediction) -> dict[str, object]:
    return {
        "model": one.model, "precision": one.precision, "target": one.target, "mode": one.mode,
        "inputs/s": f"{'<' if one.upper_bound else ''}{amount_of(one.inputs_per_s)}",
        "bound": one.bound + (f", emulated in {one.emulated}" if one.emulated else ""),
        "peak": f"{amount_of(one.peak)}op/s", "bandwidth": f"{amount_of(one.bandwidth)}B/s" if one.bandwidth else "",
        "operations": amount(round(one.operations)), "bytes": storage(round(one.bytes)) if one.bytes else "",
        "basis": one.basis,
    }  # fmt: skip


def amount_of(value: float) -> str:
    """A figure with four digits and its unit; below 1000 without one.

    >>> amount_of(7.124), amount_of(12345.6)
    ('7.124', '12.35 k')
    """
    return amount(round(value)) if value >= 1000 else f"{value:.4g}"


def _reasons(empty: Iterable[Empty]) -> list[str]:
    """One line for each reason: which targets and precisions are empty for it."""
    found: dict[str, dict[str, None]] = {}
    for one in empty:
        found.setdefault(one.reason, {})[one.target] = None
    return [f"empty: {reason}: {', '.join(targets)}" for reason, targets in found.items()]


def _print_scores(pairs: Sequence[Pair]) -> None:
    print_table([_score_row(one) for one in scored(pairs)], list(_score_row(_NONE)))
    for text in dict.fromkeys(pair.explained for pair in pairs if pair.explained):
        print(f"efficiency above 1: {text}")


def _score_row(one: Score) -> dict[str, object]:
    return {
        "platform": one.platform, "task": one.task, "basis": one.basis, "pairs": one.pairs,
        "Pearson": None if one.pearson is None else f"{one.pearson:.3f}",
        "rank": None if one.rank is None else f"{one.rank:.3f}", "error_%": f"{one.mape:.1f}",
        "efficiency": f"{one.efficiency:.3g}", "from": f"{one.least:.3g}", "to": f"{one.most:.3g}",
        "above_1": one.above,
    }  # fmt: skip


_NONE = Score("", "", "compute", 0, None, None, 0.0, 0.0, 0.0, 0.0, 0)


def _plain(found: Grid, pairs: Sequence[Pair], scores: Sequence[Score]) -> dict[str, object]:
    """Everything as plain data. Unsupported pairs have ``inputs_per_s`` null and the reason."""
    plain: dict[str, object] = {
        "predictions": [
            *(finite(asdict(one)) for one in found.predictions),
            *({**asdict(one), "inputs_per_s": None, "bound": None} for one in found.empty),
        ],
    }  # fmt: skip
    return {**plain, **({"scores": [asdict(one) for one in scores], "pairs": _pairs(pairs)} if pairs else {})}


def _pairs(pairs: Sequence[Pair]) -> list[dict[str, object]]:
    return [
        {
            "model": one.prediction.model, "precision": one.prediction.precision, "target": one.prediction.target,
            "mode": one.prediction.mode, "batch": one.prediction.batch, "compiler": one.compiler, "task": one.task,
            "basis": one.basis, "predicted": one.prediction.inputs_per_s, "measured": one.measured,
            "efficiency": one.efficiency, "explained": one.explained, "bound": one.prediction.bound,
            "assumption": one.prediction.assumption, "where": one.where,
        }
        for one in pairs
    ]  # fmt: skip


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
