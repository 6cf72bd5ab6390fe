"""The tables of docs/low-bits.md, from the rows of runs: operator cases of few bits, and models, by tool.

``python benchmarks/low_bits.py reports/low-bits-operators.jsonl reports/low-bits-models.jsonl --write`` puts them into
the page; without ``--write`` they are printed. The page says which runs make the rows.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_plugin.domain.precision import PRECISIONS, Precision
from bench_plugin.domain.texts.messages import normalised
from bench_plugin.inventory import low_bit_cases
from bench_plugin.results.rows import read_rows

PAGE = Path(__file__).resolve().parents[1] / "docs" / "low-bits.md"
BEGIN, END = "<!-- tables: python benchmarks/low_bits.py --write -->", "<!-- end of tables -->"
GRANULARITIES = {"tensor": "per tensor", "channel": "per channel", "block": "in blocks"}
ROUNDED = {"weights": "weights", "both": "both", "a8": "weights, activations uint8"}
EMULATED = {"yes": " (emulated)", "partly": " (partly emulated)", "no": "", "unknown": " (carrier unknown)"}
SHOWN = {"unsupported": "–", "supported": "supported"}
USUAL = "pytorch"  # the framework of models of which the tables do not name one
LONGEST = 180  # characters of a reason

Row = Mapping[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Print or write the tables; 1 where no row is of few bits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="files of rows")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/low-bits.md")
    asked = parser.parse_args(arguments)
    rows = [row for path in asked.results for row in read_rows(path).rows if row["kind"] == "cell"]
    few = [row for row in rows if _shown(PRECISIONS[row["cell"].get("precision", "fp32")])]
    if not few:
        print("no row is of few bits", file=sys.stderr)
        return 1
    text = "\n".join(page(few))
    if not asked.write:
        print(text)
        return 0
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")
    return 0


def _shown(precision: Precision) -> bool:
    return precision.few_bits or precision.weight_only


def page(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of all tables."""
    cases = {(row["cell"]["model"], row["cell"]["compiler"]): row for row in rows if row["cell"]["check"] == "operator"}
    compilers = sorted({compiler for _, compiler in cases}, key=lambda name: (name != "onnxruntime", name))
    yield "### Operators"
    yield ""
    yield "Cases that a tool computes right, of those of four types, or of MatMul, Gemm and Conv."
    yield ""
    yield from _operators(cases, compilers)
    yield ""
    yield "What the tools say of the others, with the number of cases:"
    yield ""
    yield from _reasons(cases.values())
    yield ""
    yield "### Models"
    yield ""
    yield from _models([row for row in rows if row["cell"]["check"] == "equivalence"])


def _operators(cases: Mapping[tuple[str, str], Row], compilers: Sequence[str]) -> Iterator[str]:
    yield from _header(["type", "scales", "rounded", *compilers])
    for kind in low_bit_cases.TYPES:
        for granularity, scales in GRANULARITIES.items():
            for rounded, words in ROUNDED.items():
                names = [f"low_bits_{name}_{kind}_{granularity}_{rounded}" for name in low_bit_cases.OPERATORS]
                found = [[cases[name, one] for name in names if (name, one) in cases] for one in compilers]
                if any(found):
                    yield _line([kind, scales, words, *map(_summary, found)])


def _summary(rows: Sequence[Row]) -> str:
    """How many of the rows are supported, and in which carrier; what else there is."""
    counts = Counter(row["status"] for row in rows)
    if not rows or set(counts) == {"unsupported"}:
        return "–"
    right = [row for row in rows if row["status"] == "supported"]
    carriers = Counter((row.get("placement") or {}).get("emulated", "unknown") for row in right)
    carried = carriers.most_common(1)[0][0] if len(carriers) == 1 else "partly" if carriers else "no"
    others = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()) if status != "supported")
    return f"{len(right)}/{len(rows)}{EMULATED[carried]}" + (f", {others}" if others else "")


def _reasons(rows: Iterable[Row]) -> Iterator[str]:
    found = Counter(
        (row["cell"]["compiler"], row["status"], _why(row)) for row in rows
        if row["status"] != "supported"
    )  # fmt: skip
    yield from _header(["tool", "status", "cases", "what it says"])
    for (compiler, status, reason), count in sorted(found.items(), key=lambda item: (item[0][0], -item[1])):
        yield _line([compiler, status, str(count), reason])


def _models(rows: Sequence[Row]) -> Iterator[str]:
    yield from _header(["model", "precision", "graph", "tool", "status", "emulated", "SQNR, dB", "bytes", "reason"])

    def place(row: Row) -> tuple[str, int, str]:
        cell = row["cell"]
        return cell["model"], list(PRECISIONS).index(cell["precision"]), str(cell)

    last = {str(row["cell"]): row for row in rows}  # of several runs of a cell
    for row in sorted(last.values(), key=place):
        cell, numbers = row["cell"], row.get("numbers") or {}
        ratio = (numbers.get("approximation") or {}).get("sqnr_db")
        weights = ((row.get("artefacts") or {}).get("graph") or {}).get("weights") or {}
        emulated = (row.get("placement") or {}).get("emulated", "")
        model = cell["model"] if cell["framework"] == USUAL else f"{cell['model']} ({cell['framework']})"
        yield _line([
            model, cell["precision"], cell.get("graph", "by the tool"), cell["compiler"], row["status"],
            emulated, "" if ratio is None else f"{ratio:.1f}", str(weights.get("bytes", "")),
            _short(row.get("reason", "")),
        ])  # fmt: skip


def _why(row: Row) -> str:
    """The reason of a known failure in our words, else what the tool says without what varies."""
    known = row.get("expected")
    text = known.get("reason", "") if isinstance(known, Mapping) else known
    return _short(str(text) if text else normalised(row.get("reason", "")))


def _short(reason: str) -> str:
    lines = reason.strip().splitlines() or [""]
    text = lines[0].replace("|", "/")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def _header(names: Sequence[str]) -> list[str]:
    return [_line(names), "|" + "---|" * len(names)]


def _line(parts: Sequence[str]) -> str:
    return f"| {' | '.join(parts)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
