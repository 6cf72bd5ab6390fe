"""The table of boards in README.md says what the committed grid of boards says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.fences import ROOT

HEAD = "| target | compiler | verdict (E) | instructions | flash kB | RAM kB |"
GRID = (ROOT / "docs/board-grid.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text: str, head: str) -> Iterator[dict[str, str]]:
    """The rows of the table below the line that begins with ``head``, by the titles of their columns."""
    lines = text[text.index(head) :].splitlines()
    titles = cells(lines[0])
    for line in lines[2:]:
        if not line.startswith("|"):
            return
        yield dict(zip(titles, cells(line), strict=True))


def verdict(target: str, compiler: str) -> str:
    """The verdict of fp32 in the section of a target, without what the grid notes behind the error."""
    row = next(
        row for row in table(GRID[GRID.index(f"## Target: {target}\n") :], "| model") if row["precision"] == "fp32"
    )
    return row[compiler].partition(")")[0] + ")"


ROWS = list(table((ROOT / "README.md").read_text(encoding="utf-8"), HEAD))


def test_it_has_every_target_of_the_grid() -> None:
    targets = {line.removeprefix("## Target: ") for line in GRID.splitlines() if line.startswith("## Target: ")}
    assert {row["target"] for row in ROWS} == targets


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["target"])
def test_a_row_is_that_of_the_grid(row: dict[str, str]) -> None:
    assert row["verdict (E)"] == verdict(row["target"], row["compiler"])
    measured = [
        found for found in table(GRID, "| target | model | source")
        if (found["target"], found["compiler"], found["precision"]) == (row["target"], row["compiler"], "fp32")
    ]  # fmt: skip
    figures = ("instructions", "flash kB", "RAM kB")
    assert [tuple(found[key] for key in figures) for found in measured] == (
        [tuple(row[key] for key in figures)] if row["flash kB"] else []
    )
