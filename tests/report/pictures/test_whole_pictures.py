"""Every picture as data, its specification and the records of hand-made rows, compared literally with files.

Where a picture changes on purpose, ``python -m tests.report.pictures.test_whole_pictures`` writes them again: read the
difference, and look at the picture.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.report.pictures.predicted import roofline, throughput
from bench_plugin.report.pictures.registry import PICTURES, embedded
from tests.report.pictures.made import TITLES, entries, everything
from tests.report.pictures.test_svg import deployment_pictures

EXPECTED = Path(__file__).parent / "expected"
FIRST = 24  # records of a picture that are compared literally
PREDICTED = (roofline, throughput)


def pictures() -> dict[str, Any]:
    """What is drawn, by the name of the picture."""
    found = {one["name"]: one for one in [*embedded(entries(*everything()), TITLES), *deployment_pictures()]}
    return found | {one.NAME: one.specification() for one in PREDICTED}


def written(picture: Any) -> str:
    """A picture as text: how many records it has, and the first ones, a record a line."""
    shown = dict(picture)
    rows = shown.pop("rows", [])
    lines = [json.dumps(shown | {"records": len(rows)}, indent=1), *(json.dumps(row) for row in rows[:FIRST])]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", sorted(EXPECTED.iterdir()), ids=lambda path: str(path.stem))
def test_a_picture_is_what_its_rows_say(path: Path) -> None:
    assert written(pictures()[path.stem]) == path.read_text("utf-8")


def test_every_picture_has_a_file() -> None:
    names = {one.NAME for one in (*PICTURES, *PREDICTED)} | {one["name"] for one in deployment_pictures()}
    assert {path.stem for path in EXPECTED.iterdir()} == names == set(pictures())


def write() -> None:
    """Write the files that the tests expect."""
    EXPECTED.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (EXPECTED / f"{name}.json").write_text(written(picture), "utf-8")


if __name__ == "__main__":
    write()
