"""What a reader follows with a project of their own: files to write, then commands to run, in order.

In most documents that is a section of level two that gives a file. A page of docs/tutorial or docs/how-to is one story
from its first line to its last; one that begins with ``<!-- follows: PAGE.md -->`` goes on in the folder of that page.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from tests.docs.fences import ROOT, Fence, all_fences, fences

STORIES = ("docs/tutorial/", "docs/how-to/")
FOLLOWS = re.compile(r"^<!-- follows: (\S+\.md) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """The fences of a story; ``heading`` is empty for that of a whole page. ``before`` are those of a page before."""

    document: str
    heading: str
    fences: tuple[Fence, ...]
    before: tuple[Fence, ...] = ()

    def __str__(self) -> str:
        return f"{self.document}: {self.heading}" if self.heading else self.document


def sections(found: Sequence[Fence] | None = None) -> list[Section]:
    """Every story: sections with at least one fence that stands for a file, and whole pages with fences."""
    grouped = groupby(all_fences() if found is None else found, key=_place)
    made = [Section(*place, tuple(told), _before(place[0])) for place, told in grouped]
    return [one for one in made if one.document.startswith(STORIES) or any(fence.title for fence in one.fences)]


def _place(fence: Fence) -> tuple[str, str]:
    return fence.document, "" if fence.document.startswith(STORIES) else fence.section


@cache
def _before(document: str) -> tuple[Fence, ...]:
    """The fences of the page that this one follows, and of those that it follows."""
    match = FOLLOWS.search((ROOT / document).read_text("utf-8")) if document.startswith(STORIES) else None
    if match is None:
        return ()
    page = posixpath.normpath(posixpath.join(posixpath.dirname(document), match[1]))
    return (*_before(page), *fences(page))
