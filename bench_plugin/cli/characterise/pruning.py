"""``bench pruning RESULTS``: pruned variants of models in rows, and whether pruning and quantisation are orthogonal."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench_plugin.characterise.pruning.orthogonality import Orthogonality, orthogonality
from bench_plugin.characterise.pruning.tables import ORTHOGONAL, VARIANTS, markdown, orthogonal_rows, variant_rows
from bench_plugin.characterise.pruning.variants import Variant, variants
from bench_plugin.cli.shared.arguments import add_json
from bench_plugin.cli.shared.output import note, print_json, print_table
from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.settings import settings_here
from bench_plugin.results.history import find_run
from bench_plugin.results.rows import read_rows

HELP = "compare the pruned variants of models (--kept) and say whether pruning and quantisation are orthogonal"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RESULTS, and the form of the output."""
    parser.add_argument(
        "results", nargs="*", help="results files, or ids of earlier runs (default: the one configured)"
    )
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/pruning.md")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the variants and what they say of orthogonality. Raises BenchError where no row is of a pruned model."""
    configured = settings_here().results
    files = [find_run(name, configured) for name in args.results] or [configured]
    found = variants(row for path in files for row in read_rows(path).rows)
    if not found:
        names = ", ".join(str(path) for path in files)
        raise BenchError(f"{names}: no row is of a pruned model; pytest suites --kept 100,50,25 makes some")
    both = orthogonality(found)
    if args.json:
        print_json({"variants": [asdict(one) for one in found], "orthogonality": [_plain(one) for one in both]})
    elif args.markdown:
        print(markdown(found, both))
    else:
        _print(found, both)
    return 0


def _print(found: Sequence[Variant], both: Sequence[Orthogonality]) -> None:
    print_table(variant_rows(found), VARIANTS)
    print()
    if not both:
        note("no model is quantised and pruned: --precisions fp32,int8 beside --kept 100,50 makes all four variants")
        return
    print_table(orthogonal_rows(both), ORTHOGONAL)


def _plain(one: Orthogonality) -> dict[str, Any]:
    ratios = {"p1": one.p1, "p2": one.p2, "q1": one.q1, "q2": one.q2, "ratio": one.ratio}
    return {**asdict(one), **ratios, "orthogonal": one.orthogonal}
