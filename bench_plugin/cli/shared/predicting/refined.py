"""Predictions with factors of other models (``bench predict --refine``): rows of tables and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench_plugin.characterise.prediction.predict import Prediction
from bench_plugin.characterise.prediction.published import MEASUREMENTS, TOPOLOGIES
from bench_plugin.characterise.prediction.refinement import by_size, refinements, utilisation
from bench_plugin.characterise.prediction.scores import Pair
from bench_plugin.cli.shared.output import note, print_table
from bench_plugin.domain.errors import UsageError

Row = dict[str, object]
NONE = "-"  # there is no factor by size


def is_published(path: Path) -> bool:
    """Whether the pairs to fit on are those of a folder of published tables. Raises UsageError for another folder."""
    if not path.is_dir():
        return False
    for name in (TOPOLOGIES, MEASUREMENTS):
        if not (path / name).is_file():
            raise UsageError(f"--refine: {path} has no file {name}")
    return True


def print_refined(predictions: Sequence[Prediction], pairs: Sequence[Pair]) -> None:
    """Two tables: the predictions with their factors, and the error with and without it where it was fitted."""
    rows = refined_rows(predictions, pairs)
    if not rows:
        note("nothing is refined: no other model was measured on these targets in these datatypes")
        return
    print()
    shown = [_shown(row) for row in rows]
    print_table(shown, list(shown[0]))
    print()
    places = {(row["target"], row["mode"], row["datatype"]) for row in rows}
    table = [
        {
            "target": one.target, "mode": one.mode, "datatype": one.datatype, "models": len(one.models),
            "pairs": one.pairs, "factor": f"{one.least:.3g} to {one.most:.3g}", "error_%": f"{one.error:.1f}",
            "refined_error_%": f"{one.refined:.1f}",
            "by_size_error_%": NONE if one.sized is None else f"{one.sized:.1f}",
        }
        for one in refinements(pairs)
        if one.basis == "compute" and (one.target, one.mode, one.datatype) in places
    ]  # fmt: skip
    if table:
        print("each measured model with a factor of the others:")
        print_table(table, list(table[0]))
    else:
        note("a single model was measured there, so no error with the factor is known")


def refined_rows(predictions: Sequence[Prediction], pairs: Sequence[Pair]) -> list[Row]:
    """The predictions for which there is a factor, as plain data."""
    rows: list[Row] = []
    for one in predictions:
        fitted, line = utilisation(pairs, one), by_size(pairs, one)
        if fitted is not None:
            rows.append({
                "model": one.model, "precision": one.precision, "target": one.target, "mode": one.mode,
                "datatype": one.datatype, "inputs_per_s": one.inputs_per_s, "factor": fitted.factor,
                "refined_inputs_per_s": one.inputs_per_s * fitted.factor,
                "by_size_inputs_per_s": one.inputs_per_s * line.factor if line else None,
                "slope": line.slope if line else None, "fitted_on": list(fitted.models),
            })  # fmt: skip
    return rows


def plain_refined(predictions: Sequence[Prediction], pairs: Sequence[Pair]) -> Row:
    """Factors and errors as plain data."""
    return {"refined": refined_rows(predictions, pairs), "refinements": [asdict(one) for one in refinements(pairs)]}


def _shown(row: Row) -> Row:
    models = row["fitted_on"]
    assert isinstance(models, list)
    by_size = row["by_size_inputs_per_s"]
    return {
        "model": row["model"], "precision": row["precision"], "target": row["target"], "mode": row["mode"],
        "inputs/s": f"{row['inputs_per_s']:.4g}", "factor": f"{row['factor']:.3g}",
        "refined": f"{row['refined_inputs_per_s']:.4g}", "by_size": NONE if by_size is None else f"{by_size:.4g}",
        "fitted_on": f"{len(models)}: {', '.join(models)}",
    }  # fmt: skip
