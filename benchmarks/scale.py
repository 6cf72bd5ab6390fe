"""What many cells would take, from rows of runs: ``python benchmarks/scale.py RESULTS... --cells timing=400000 ...``.

Prints a Markdown table with one line per kind of check: measured rows, mean seconds of a cell (the sum of its
``timings``), mean bytes of its row as JSON and as Parquet, and these times the number of cells asked for. The sums are
those of docs/scale.md. Parquet needs DuckDB: pip install 'bench-plugin[history]'.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GB, DAY = 1e9, 86400.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="results files")
    parser.add_argument("--cells", nargs="+", required=True, metavar="CHECK=NUMBER", help="how many cells of each kind")
    given = parser.parse_args()
    rows = read(given.results)
    print("| check | rows | s per cell | JSON B | Parquet B | cells | worker-days | JSON GB | Parquet GB |")
    print("|---|---|---|---|---|---|---|---|---|")
    total = [0.0] * 4
    for name, count in (text.split("=") for text in given.cells):
        lines = rows[name]
        cells = int(count)
        seconds = statistics.mean(sum((json.loads(line).get("timings") or {}).values()) for line in lines)
        size, packed = statistics.mean(map(len, lines)), parquet(lines) / len(lines)
        sums = [cells, cells * seconds / DAY, cells * size / GB, cells * packed / GB]
        total = [one + other for one, other in zip(total, sums, strict=True)]
        print(
            f"| {name} | {len(lines)} | {seconds:.2f} | {size:.0f} | {packed:.0f} | {cells:,} | {sums[1]:,.0f} | "
            f"{sums[2]:.1f} | {sums[3]:.2f} |"
        )
    print(f"| all |  |  |  |  | {total[0]:,.0f} | {total[1]:,.0f} | {total[2]:.1f} | {total[3]:.2f} |")


def read(paths: Sequence[Path]) -> dict[str, list[str]]:
    """The lines of computed cells by check."""
    found = defaultdict(list)
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            row: dict[str, Any] = json.loads(line)
            if row["kind"] == "cell":
                found[row["check"]].append(line)
    return found


def parquet(lines: Sequence[str]) -> int:
    """Bytes of rows in one Parquet file, compressed with zstd, nested values as JSON text."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "rows.jsonl"), Path(folder, "rows.parquet")
        source.write_text("\n".join(lines) + "\n", "utf-8")
        kept = {key: "JSON" for line in lines for key in json.loads(line)}
        columns = ", ".join(f"'{key}': '{kind}'" for key, kind in kept.items())
        duckdb.sql(
            f"COPY (SELECT * FROM read_json('{source}', format='newline_delimited', maximum_object_size=100000000, "
            f"columns={{{columns}}})) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
        )
        return target.stat().st_size


if __name__ == "__main__":
    main()
