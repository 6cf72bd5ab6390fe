"""The tables of pruned variants, as the terminal and docs/pruning.md show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_plugin.characterise.pruning.orthogonality import Orthogonality
from bench_plugin.characterise.pruning.variants import Variant
from bench_plugin.domain.cell import WHOLE

VARIANTS = ("model", "compiled_by", "precision", "kept", "operations", "weights", "bytes", "task_metric", "time")
ORTHOGONAL = ("model", "compiled_by", "precision", "kept", "figure", "p1", "p2", "q1", "q2", "p2/p1", "orthogonal")


def variant_rows(found: Sequence[Variant]) -> list[dict[str, str]]:
    """A row for each variant, with its operations, weights and bytes as shares of the whole model at its precision."""
    whole = {(one.group, one.precision): one for one in found if one.kept == WHOLE}
    rows = []
    for one in found:
        base = whole.get((one.group, one.precision))
        rows.append({
            **_head(one.of, one.precision, one.kept),
            "operations": _count(one.operations, base.operations if base else None),
            "weights": _count(one.weights, base.weights if base else None),
            "bytes": _count(one.size, base.size if base else None),
            "task_metric": "" if one.metric is None else f"{one.metric:.2%}{_wrong(one)}",
            "time": "" if one.seconds is None else f"{one.seconds * 1e6:.4g} us{_interval(one.half_width)}",
        })  # fmt: skip
    return rows


def orthogonal_rows(found: Sequence[Orthogonality]) -> list[dict[str, str]]:
    """A row for each figure of a variant that is pruned and quantised."""
    return [
        {
            **_head(one.of, one.precision, one.kept), "figure": one.figure,
            **{name: f"{getattr(one, name):.3f}" for name in ("p1", "p2", "q1", "q2")},
            "p2/p1": f"{one.ratio:.3f}{_interval(one.half_width)}", "orthogonal": _said(one),
        }
        for one in found
    ]  # fmt: skip


def markdown(found: Sequence[Variant], both: Sequence[Orthogonality]) -> str:
    """Both tables, the second only where a model is both pruned and quantised."""
    tables = [_table(VARIANTS, variant_rows(found))]
    tables += [_table(ORTHOGONAL, orthogonal_rows(both))] if both else []
    return "\n\n".join(tables)


def _head(of: Mapping[str, str], precision: str, kept: int) -> dict[str, str]:
    source = f"{of.get('framework', '')} {of.get('exporter', '')}".strip()
    target = of.get("target", "local")
    compiled = " ".join([of.get("compiler", ""), f"({source})", *([f"on {target}"] if target != "local" else [])])
    return {"model": of.get("model", ""), "compiled_by": compiled, "precision": precision, "kept": f"{kept} %"}


def _count(value: int | None, whole: int | None) -> str:
    """A count, with its share of that of the whole model."""
    if value is None:
        return ""
    return f"{value:,}" if not whole or value == whole else f"{value:,} ({value / whole:.1%})"


def _wrong(one: Variant) -> str:
    return f" (not supported: {', '.join(one.wrong)})" if one.wrong else ""


def _interval(half_width: float | None) -> str:
    return "" if half_width is None else f" ± {half_width:.1%}"


def _said(one: Orthogonality) -> str:
    said = {True: "yes, within the interval", False: "no", None: ""}[one.orthogonal]
    return f"{said} (of wrong results: {', '.join(one.wrong)})".strip() if one.wrong else said


def _table(heads: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [[head.replace("_", " ") for head in heads], ["---"] * len(heads)]
    lines += [[str(row[head]) for head in heads] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
