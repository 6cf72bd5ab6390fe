"""The one table of statuses: their order, their colours and what they mean; every grid, page and terminal uses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench_plugin.domain.outcome import Status

NOT_RUN = "not run"
PROGRESS = "progress"  # a known failure passed: pytest fails the item, whose status is supported
SLOWER = "slower"  # with --bench-against: pytest fails the item, whose status is supported
FAILED = (str(Status.ERROR), str(Status.MISMATCH), str(Status.UNSUPPORTED))
SCORED = (str(Status.SUPPORTED), *FAILED)


@dataclass(frozen=True)
class StatusStyle:
    """How a status is shown: ``terminal`` is pytest's name of a colour, ``html`` a background (empty: grey text)."""

    name: str
    meaning: str
    terminal: str
    html: str


# From worst to best: the first that cells have in common is what a joined cell shows.
STATUSES: tuple[StatusStyle, ...] = (
    StatusStyle(
        Status.ERROR, "an exception, an invalid model, a crash, a timeout or too much memory", "red", "#ffcecb"
    ),
    StatusStyle(
        Status.MISMATCH,
        "it ran, but values, a shape or a type are wrong; of quality: it does its task worse",
        "red", "#ffd8b5",
    ),
    StatusStyle(Status.UNSUPPORTED, "the tool itself says that it does not implement this", "yellow", "#eaeef2"),
    StatusStyle(
        PROGRESS, "supported, but pytest failed it: a known failure passed, remove its row", "red", "#f5d0fe"
    ),
    StatusStyle(SLOWER, "supported, but slower than the artefact that it was measured against", "red", "#f5d0fe"),
    StatusStyle(Status.BOARD_LOST, "the board did not answer any more, also when tried again", "red", "#ffcecb"),
    StatusStyle(
        Status.UNVERIFIED,
        "an earlier stage failed, nothing was run, or there is nothing to compare with; outside every score",
        "yellow", "#fff8c5",
    ),
    StatusStyle(
        Status.OUTSIDE_BOUND,
        "within the tolerance of ONNX's own test runner and outside our narrower bound: no failure by ONNX's measure, "
        "though its cause may have a finding; outside every score",
        "yellow", "#fff8c5",
    ),
    StatusStyle(
        Status.VERSION_SKEW,
        "it fails outside the opsets and IR versions that the tool takes, or where ONNX changed a rule in place; "
        "outside every score",
        "cyan", "#ddf4ff",
    ),
    StatusStyle(NOT_RUN, "planned or possible, but this run has no row of it", "", ""),
    StatusStyle(
        Status.NOT_PROVIDED,
        "the framework has no such model, or a tool, or something that it needs, is not installed",
        "", "",
    ),
    StatusStyle(Status.SUPPORTED, "it ran, and everything compared is within its tolerance", "green", "#dafbe1"),
)  # fmt: skip

STYLES: Mapping[str, StatusStyle] = {str(style.name): style for style in STATUSES}
ORDER: tuple[str, ...] = tuple(STYLES)


def severity(status: str) -> int:
    """The place in the order, 0 for the worst; a status that is not in the table stands first."""
    return ORDER.index(status) if status in STYLES else -1


def worst(statuses: Iterable[str]) -> str:
    """The worst of statuses. Raises ValueError when there is none."""
    return min(statuses, key=severity)


def css_class(status: str) -> str:
    """The name of a status in a style sheet."""
    return status.replace(" ", "-")


def terminal_colour(status: str) -> str:
    """pytest's name of a colour; empty for the terminal's own."""
    return STYLES[status].terminal if status in STYLES else ""


def legend(present: Iterable[str]) -> list[tuple[str, str]]:
    """(status, meaning) of those that are present, the best first."""
    shown = set(present)
    return [(name, STYLES[name].meaning) for name in reversed(ORDER) if name in shown]
