"""Sections that a reader follows with a project of their own: files to write, then commands to run, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tests.docs.fences import Fence, all_fences


@dataclass(frozen=True)
class Section:
    """The fences of one section of level two that gives files to write."""

    document: str
    heading: str
    fences: tuple[Fence, ...]

    def __str__(self) -> str:
        return f"{self.document}: {self.heading}"


def sections(found: Sequence[Fence] | None = None) -> list[Section]:
    """Every section with at least one fence that stands for a file."""
    grouped = groupby(all_fences() if found is None else found, key=lambda fence: (fence.document, fence.section))
    made = [Section(*place, tuple(fences)) for place, fences in grouped]
    return [section for section in made if any(fence.title for fence in section.fences)]
