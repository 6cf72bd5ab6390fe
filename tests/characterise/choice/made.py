"""Candidates for tests."""

from __future__ import annotations

from bench_plugin.characterise.choice.candidate import Basis, Candidate, Figure


def candidate(
    name: str, *, status: str = "supported", reason: str = "", target: str = "local", basis: Basis = Basis.MEASURED,
    predicted: dict[str, float] | None = None, places: dict[str, str] | None = None,
    attributes: dict[str, tuple[str, ...]] | None = None, **figures: float,
) -> Candidate:  # fmt: skip
    """A candidate with these figures, all of one basis; ``predicted`` are those that stand beside measured ones."""
    beside = {quantity: Figure(value, Basis.PREDICTED, "formula") for quantity, value in (predicted or {}).items()}
    return Candidate(
        name, {"model": "net", "compiler": name, "precision": "fp32", "target": target, **(places or {})},
        {quantity: Figure(value, basis, "row k") for quantity, value in figures.items()},
        attributes or {}, status, reason, "k", beside,
    )  # fmt: skip
