"""``bench complies MODEL``: node by node, what compilers are known to take, before anything is compiled."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench_plugin.characterise.compliance.coverage import PERHAPS, YES, complies
from bench_plugin.characterise.facts import Facts
from bench_plugin.cli.characterise.needs import sizes_of
from bench_plugin.cli.shared.arguments import add_json, completed_by
from bench_plugin.cli.shared.compliance.evidence import chosen_compilers, evidence_folder, evidence_of, read_tables
from bench_plugin.cli.shared.compliance.text import print_report, print_traces
from bench_plugin.cli.shared.compliance.tracing import Traced, Tracer
from bench_plugin.cli.shared.model_facts import read_facts
from bench_plugin.cli.shared.names import compilers
from bench_plugin.cli.shared.output import note, print_json
from bench_plugin.cli.shared.registered_models import registered_models
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.results.history import find_run
from bench_plugin.results.rows import read_rows

HELP = "say node by node which compilers take an ONNX file, on which evidence, before anything is compiled"
SUFFIX = ".onnx"
FINDING, CANNOT_SAY = 1, 3


@dataclass(frozen=True)
class Subject:
    """The model: its name in rows, its file, its facts, and the sizes of its symbols other than the batch."""

    name: str
    path: Path
    facts: Facts
    sizes: Mapping[str, int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """MODEL, the compilers, and where the evidence is from."""
    parser.add_argument("model", metavar="MODEL", help="an ONNX file, or the name of a registered model")
    chosen = parser.add_argument(
        "--compilers", default="all", metavar="NAMES", help="names with commas between them, or all (the default)"
    )
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="inputs per run (default %(default)s)")
    parser.add_argument(
        "--sizes", default="", metavar="NAME=N,…", help="sizes of symbolic dimensions other than the batch"
    )
    parser.add_argument(
        "--framework", default="pytorch", help="of a registered model: what exports it (default %(default)s)"
    )
    parser.add_argument(
        "--results", action="append", default=[], metavar="ROWS",
        help="a results file or the id of a run, whose operator cases and models are evidence, too; may be repeated",
    )  # fmt: skip
    parser.add_argument("--summary", action="store_true", help="print what each compiler covers, and no nodes")
    parser.add_argument(
        "--trace", action="store_true", help="compile it, too, and say which nodes each compiled graph still names"
    )
    add_json(parser)
    completed_by(chosen, compilers)


def run(args: argparse.Namespace) -> int:
    """Print the verdicts. 0: some compiler takes the whole model; 1: every one of them lacks a node; 3: it is not known
    of any that it takes the whole model, nor of all that they do not. Raises UsageError for what is not there.
    """
    if args.batch < 1:
        raise UsageError(f"--batch: {args.batch} is not a positive number")
    settings = settings_here()
    workspace = Workspace.load(settings)
    names = chosen_compilers(workspace, args.compilers)
    tables = read_tables(evidence_folder(workspace.operator_folders))
    rows = [row for one in args.results for row in read_rows(find_run(one, settings.results)).rows]
    evidences = evidence_of(workspace, names, tables, rows)
    subject = _subject(args)
    report = complies(
        subject.facts, evidences, tables.schemas, model=subject.name, size=subject.path.stat().st_size,
        batch=args.batch,
    )  # fmt: skip
    runs = {one.compiler: one.run for one in evidences if one.run}
    traces = _traces(args.batch, settings, workspace, names, subject) if args.trace else []
    if args.json:
        traced = {"traces": [asdict(one) for one in traces]} if args.trace else {}
        print_json({**asdict(report), "runs": runs, **traced})
    else:
        print_report(report, runs, nodes=not args.summary)
        if args.trace:
            print_traces(traces, nodes=not args.summary)
    takes = {one.takes for one in report.compilers}
    return 0 if YES in takes else CANNOT_SAY if PERHAPS in takes else FINDING


def _subject(args: argparse.Namespace) -> Subject:
    """The model that is named. Raises UsageError for a file or a model that does not exist."""
    path, sizes = Path(args.model), sizes_of(args.sizes)
    if path.suffix == SUFFIX or path.is_file():
        return Subject(path.stem, path, read_facts(path, batch=args.batch, sizes=sizes), sizes)
    with registered_models() as models:
        found = models.exported(args.model, args.framework)
    sizes = {**found.sizes, **sizes}
    return Subject(args.model, found.path, read_facts(found.path, batch=args.batch, sizes=sizes), sizes)


def _traces(
    batch: int, settings: Settings, workspace: Workspace, names: Sequence[str], subject: Subject
) -> list[Traced]:
    tracer = Tracer(settings, workspace, note)
    try:
        return [tracer.trace(subject.path, subject.facts, name, batch=batch, sizes=subject.sizes) for name in names]
    finally:
        tracer.close()
