"""Parts that several pages have: what the run was, the legend, how models were made, the list of failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.report.blocks import Block, Heading, Paragraph, Table, TableCell
from bench_plugin.report.entries import AND, Entry
from bench_plugin.report.statuses import legend

FIRST_LINE = 140
# A file by its absolute path; the names of nodes in a graph look alike, but have no such ending.
ABSOLUTE = re.compile(r"(?<![\w.])(?:/[\w.+-]+)+/([\w+-]+\.(?:onnx|tflite|xml|so|py|cpp|cc|hpp|h|c|mlir|json))\b")
SEEDED = (
    "Weights are not trained: they are drawn from a seed and conditioned, so that the outputs change visibly with the "
    "inputs and a small mistake in a tool shows."
)
REDUCED = (
    "Seeded weights have no outliers. So the rows of int8 (w8a8, w8a8-dyn, w8) say whether a tool computes what the "
    "quantised graph says; how many decibels or how much accuracy a trained model would lose, they do not say. The "
    "rows of bf16 and fp16 say how errors of rounding grow in this architecture; a trained model may be better or "
    "worse conditioned."
)
TRAINED = "Trained on their dataset, and so an example of what quantisation costs: {models}."
GIVEN = "ONNX files are used with the weights that they hold: {models}."


def run_line(header: Mapping[str, Any]) -> Iterator[Block]:
    """One paragraph at the head of a page: when, where and from what the page was made."""
    if not header:
        return
    runs = header.get("runs") or [header]
    times = sorted({str(one.get("started") or "").replace("T", " ").replace("Z", " UTC") for one in runs} - {""})
    when = " to ".join(dict.fromkeys((times[0], times[-1]))) if times else "an unknown date"
    ids = [str(one["run"]) for one in runs if one.get("run")]
    run = f"{len(runs)} runs" if len(runs) > 1 else f"Run {ids[0]}" if ids else "Run"
    commits = _each(commit for one in runs for commit in str(one.get("commit") or "none").split(AND))
    machines = _each(_machine(one.get("machine") or {}) for one in runs)
    applied = _each(str(one["known_failures"]) for one in runs if one.get("known_failures"))
    since = f" The known failures are those of commit{plural(len(applied))} {', '.join(applied)}." if applied else ""
    yield Paragraph(
        f"{run} of {when}, commit{plural(len(commits))} {', '.join(commits)}, on {'; '.join(machines)}.{since}"
    )


def _machine(machine: Mapping[str, Any]) -> str:
    """Processor and architecture."""
    return ", ".join(str(machine[key]) for key in ("cpu", "architecture") if key in machine) or "an unknown machine"


def _each(values: Iterable[str]) -> list[str]:
    """Each value once, in order."""
    return list(dict.fromkeys(values))


def plural(count: int) -> str:
    """The end of a noun behind a number."""
    return "" if count == 1 else "s"


def made_with(header: Mapping[str, Any], entries: Iterable[Entry] = ()) -> Iterator[Block]:
    """Date, machine, commit, command, seeds and versions of a run, or of each of several, as ``header_of`` has them.

    The versions are those of all toolchains, or, with ``entries``, of what took part in them.
    """
    yield Heading("Made with")
    if not header:
        yield Paragraph("The results file has no header.")
        return
    runs = header.get("runs") or [header]

    def of_runs(name: str) -> str:
        return "; ".join(_each(str(one.get(name) or "") for one in runs))

    facts = {
        "run": of_runs("run"), "started": of_runs("started"),
        "commit": "; ".join(_each(str(one.get("commit") or "none") for one in runs)),
        "command": header.get("command"),
        "machine": "; ".join(
            _each(", ".join(f"{name} {value}" for name, value in (one.get("machine") or {}).items()) for one in runs)
        ),
        "seeds": ", ".join(f"{name} {value}" for name, value in header.get("seeds", {}).items()),
        "bench_plugin": header.get("bench_plugin"), "Python": header.get("python"),
    }  # fmt: skip
    used = {f"{name} {version}" for one in entries for name, version in one.versions.items()}
    facts["versions"] = ", ".join(sorted(used))
    known = tuple((TableCell(name), TableCell(str(text))) for name, text in facts.items() if text)
    yield Table(("", "these runs" if len(runs) > 1 else "this run"), known)
    rows = [
        (TableCell(toolchain), TableCell(", ".join(f"{name} {version}" for name, version in sorted(lock.items()))))
        for toolchain, lock in sorted(header.get("versions", {}).items())
    ]
    if rows and not used:
        yield Table(("toolchain", "locked versions"), tuple(rows))


def remarks(*texts: str) -> list[Block]:
    """A paragraph for each text that says something."""
    return [Paragraph(text) for text in texts if text]


def legend_table(entries: Iterable[Entry], further: Sequence[tuple[str, str]] = ()) -> Table:
    """The meaning of every status that the entries have, and of ``further`` marks."""
    rows = [(TableCell(name, name), TableCell(text)) for name, text in legend({one.shown for one in entries})]
    rows += [(TableCell(shown), TableCell(text)) for shown, text in further]
    return Table(("shown", "meaning"), tuple(rows))


def how_models_were_made(entries: Iterable[Entry], titles: Mapping[str, str]) -> list[Block]:
    """Which models have seeded weights, which trained ones, and what follows for reduced precisions."""
    trained: dict[str, dict[str, None]] = {}
    given: dict[str, None] = {}
    seeded: set[str] = set()  # precisions
    for one in entries:
        name = titles.get(str(one.cell["model"]), str(one.cell["model"]))
        if one.numbers.get("training"):
            trained.setdefault(name, {})[str(one.cell["framework"])] = None
        elif one.cell.get("framework") == "onnx":
            given[name] = None
        elif one.key:
            seeded.add(str(one.cell.get("precision", "fp32")))
    texts = [SEEDED] if seeded else []
    texts += [REDUCED] if seeded - {"fp32"} else []
    named = [f"{name} ({', '.join(frameworks)})" for name, frameworks in trained.items()]
    texts += [TRAINED.format(models=", ".join(named))] if named else []
    texts += [GIVEN.format(models=", ".join(given))] if given else []
    return [Heading("How the models were made"), *map(Paragraph, texts)] if texts else []


def failures_table(entries: Iterable[Entry], describe: Callable[[Entry], str]) -> list[Block]:
    """Every computed cell that is not supported: status, stage, reason, known cause and the key to run it again."""
    rows = [
        (
            TableCell(describe(one)), TableCell(one.status, one.shown), TableCell(where(one)),
            TableCell(first_line(one)), TableCell(one.expected), TableCell(one.key),
        )
        for one in entries if one.key and (one.status != "supported" or one.failed)
    ]  # fmt: skip
    heads = ("cell", "status", "stage: symptom", "first useful line", "known cause", "key")
    return [Heading("What is not supported, and why"), Table(heads, tuple(rows))] if rows else []


def number(value: float | None) -> str:
    """An error with two digits, or nothing."""
    return "" if value is None else f"{value:.1e}"


def strength_of(one: Entry) -> tuple[int, int]:
    """How many mutants the comparison of a cell notices, of how many that apply."""
    table = one.numbers.get("mutants") or {}
    applicable = one.numbers.get("mutants_applicable")
    if applicable is None:  # a row of an older version
        return sum(bool(row["killed"]) for row in table.values()), len(table)
    return int(applicable) - len(one.numbers.get("mutants_missed") or ()), int(applicable)


def mark(one: Entry) -> str:
    """``!`` beside the status of a cell that pytest failed although the status alone would not."""
    return "!" if one.shown != one.status else ""


def where(entry: Entry) -> str:
    """Stage and symptom."""
    return ": ".join(part for part in (entry.stage, entry.symptom) if part)


def first_line(entry: Entry) -> str:
    """The first line of the reason, bounded; of files by an absolute path, which say nothing elsewhere, the names."""
    line = entry.reason.strip().splitlines()[0] if entry.reason.strip() else ""
    line = ABSOLUTE.sub(r"\1", line)
    return line if len(line) <= FIRST_LINE else line[: FIRST_LINE - 1] + "…"
