"""How a study of sensitivity is printed in a terminal, and written as a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench_plugin.cli.shared.output import print_table
from bench_plugin.cli.shared.sensitivity.study import Row, Study
from bench_plugin.domain.texts.masking import masked

ALONE = "quantised alone to 8 bits (weights, activations and result), simulated and deployed"
DEPTH = "all layers quantised: the gap of each layer contains those of the layers in front of it"


def print_study(study: Study, top: int) -> None:
    """The ranking, the assignment, and what compilers made of it."""
    print(f"{heading(study)}\n")
    _table(study.finding_rows(top))
    if len(study.findings) > top:
        print(f"{len(study.findings) - top} more with smaller effects: --top {len(study.findings)}, or --json")
    print(f"\nbits within {study.bound_said()}; 32: in floating point")
    _table(study.assignment_rows())
    for line in study.summary():
        print(line)
    if study.alone:
        print(f"\n{ALONE}")
        _table(study.deployed_rows())
    if study.together:
        print(f"\n{DEPTH}")
        _table(study.depth_rows())
        for line in study.growth_said():
            print(line)


def heading(study: Study) -> str:
    """What was measured on what."""
    task = study.task or "no labels, so E alone"
    made = f" ({study.framework})" if study.framework != "onnx" else ""
    left = ", ".join(f"{count} x {name}" for name, count in sorted(study.untouched.items()))
    return f"{study.model}{made}: {len(study.layers)} layers, one part at a time, on {study.samples} inputs; {task}" + (
        f"; left in floating point: {left}" if left else ""
    )


def page(study: Study, command: str) -> str:
    """A page in Markdown; ``command`` is what made it."""
    parts = [
        f"# Sensitivity of {study.model}",
        f"Made by `{command}`. What the figures mean: [sensitivity.md](sensitivity.md).",
        heading(study) + ".",
        "## Ranking",
        _markdown(study.finding_rows()),
        "## Assignment",
        f"Within {study.bound_said()}; 32: in floating point.",
        _markdown(study.assignment_rows()),
        "\n".join(f"- {line}" for line in study.summary()),
    ]
    if study.alone:
        parts += ["## Simulated and deployed", ALONE[0].upper() + ALONE[1:] + ".", _markdown(study.deployed_rows())]
    if study.together:
        parts += [
            "## By depth", DEPTH[0].upper() + DEPTH[1:] + ".", _markdown(study.depth_rows()),
            "\n".join(f"- {line}" for line in study.growth_said()),
        ]  # fmt: skip
    return masked("\n\n".join(parts)) + "\n"


def _table(rows: Sequence[Row]) -> None:
    print_table(rows, list(rows[0]) if rows else [])


def _markdown(rows: Sequence[Row]) -> str:
    """A table in Markdown; nothing where there are no rows."""
    if not rows:
        return ""
    columns = list(rows[0])
    lines = [" | ".join(column.replace("_", " ") for column in columns), " | ".join("---" for _ in columns)]
    lines += [" | ".join(_cell(row[column]) for column in columns) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else str(value).replace("|", "\\|")
