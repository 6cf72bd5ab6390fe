"""The table of docs/numbers.md on what verdicts notice, from the rows of a run: ``python benchmarks/strength.py FILE``.

FILE is a results file of ``pytest suites/equivalence``. Prints a line per compiler and precision: for each model how
many mutants the comparison notices, of how many that apply, and which would pass.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench_plugin.report.entries import Entry
from bench_plugin.report.grids.compiled import build_grid, line_of
from bench_plugin.report.parts import strength_of
from bench_plugin.results.rows import read_rows


def main() -> None:
    """Print the table."""
    grid = build_grid(read_rows(Path(sys.argv[1])).rows)
    found = [one for one in grid.of_check("equivalence") if one.numbers.get("mutants")]
    models = list(dict.fromkeys(line_of(one).model for one in found))
    places: dict[tuple[str, str], dict[str, Entry]] = {}
    for one in found:
        line = line_of(one)
        places.setdefault((grid.headings[str(one.cell["compiler"])], line.text), {})[line.model] = one
    heads = ("compiler", "precision", *(grid.titles.get(model, model) for model in models), "would pass")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for (compiler, precision), by_model in places.items():
        names = (name for one in by_model.values() for name in one.numbers.get("mutants_missed") or ())
        missed = dict.fromkeys(name.partition(" at ")[0] for name in names)  # mutants of layers have their place there
        shown = [_said(by_model[model]) if model in by_model else "–" for model in models]
        print("| " + " | ".join((compiler, precision, *shown, ", ".join(missed) or "–")) + " |")


def _said(one: Entry) -> str:
    noticed, applicable = strength_of(one)
    weak = ", weak" if any(flag.startswith("weak") for flag in one.flags) else ""
    blind = f", {one.unverified}" if one.unverified else ""
    return f"{noticed} of {applicable}{weak}{blind}"


if __name__ == "__main__":
    main()
