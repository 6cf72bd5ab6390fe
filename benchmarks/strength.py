"""The table of docs/numbers.md on what verdicts notice, from the rows of a run: ``python benchmarks/strength.py FILE``.

FILE is a results file of ``pytest suites/equivalence`` or ``suites/roundtrip``. Prints a line per compiler, model and
precision: how many mutants the comparison notices, of how many that apply, and which would pass.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench_plugin.report.entries import entry
from bench_plugin.report.grids.compiled import build_grid, line_of
from bench_plugin.report.parts import strength_of
from bench_plugin.results.rows import read_rows


def main() -> None:
    """Print the table."""
    rows = read_rows(Path(sys.argv[1])).rows
    grid = build_grid(rows)
    print("| compiler | model | precision | status | noticed | would pass |\n|---|---|---|---|---|---|")
    for row in rows:
        if row["kind"] != "cell" or not (row["numbers"].get("mutants") or {}):
            continue
        one = entry(row)
        line = line_of(one)
        noticed, applicable = strength_of(one)
        status = f"{one.status}: {one.unverified}" if one.unverified else one.status
        marks = " (weak)" if any(flag.startswith("weak") for flag in one.flags) else ""
        missed = ", ".join(one.numbers.get("mutants_missed") or ()) or "–"
        compiler = grid.headings.get(str(one.cell["compiler"]), str(one.cell["compiler"]))
        model = grid.titles.get(line.model, line.model)
        print(
            f"| {compiler} | {model} | {line.text} | {status}{marks} | {noticed} of {applicable} "
            f"({noticed / applicable:.0%}) | {missed} |"
        )


if __name__ == "__main__":
    main()
