"""The data of the interactive page of two hand-made runs, and what its template writes, compared literally with files.

Where the page changes on purpose, ``python -m tests.report.interactive.test_whole_report`` writes them again: read the
difference.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="comes with the extra report")
pytest.importorskip("orjson", reason="comes with the extra report")

from bench_plugin.report.interactive.page import Report, _evidence, _overview, make_report, render
from bench_plugin.report.interactive.reading import read_source, with_previous
from tests.report.interactive.scene import write_runs, write_two

EXPECTED = Path(__file__).parent / "expected"
TWO = Path(__file__).parent / "expected_of_two_files.json"
IN_PICTURES = "pictures-data", "deployment-pictures"  # what they hold is compared in tests/report/pictures


def made(folder: Path) -> Report:
    """What the page of the two runs is made of."""
    return make_report([with_previous(read_source(write_runs(folder)), None)])


def files(folder: Path) -> dict[str, str]:
    """The data of the page by the ids of its elements, and the page without its data, scripts and styles."""
    report = made(folder)
    parts = dict([*_overview(report, details=True), *_evidence(report)])
    found = {f"{name}.json": json.dumps(part, indent=1) for name, part in parts.items() if name not in IN_PICTURES}
    page = re.sub(r"(<(style|script)[^>]*>).*?(</\2>)", r"\1\3", render(report), flags=re.DOTALL)
    page = re.sub(r"'sha256-[^']*'", "'sha256-'", page)
    return {name: text.replace(str(folder), "FOLDER") + "\n" for name, text in {**found, "page.html": page}.items()}


def of_two_files(folder: Path) -> str:
    """The data of the page of two results files, of operator cases and of models that do their task."""
    report = make_report([with_previous(read_source(path), None) for path in write_two(folder)])
    parts = dict(_overview(report, details=True))
    return json.dumps(parts["data"], indent=1).replace(str(folder), "FOLDER") + "\n"


def test_the_data_of_two_files_are_what_their_rows_say(tmp_path: Path) -> None:
    assert of_two_files(tmp_path) == TWO.read_text("utf-8")


def test_the_page_is_what_its_rows_say(tmp_path: Path) -> None:
    found = files(tmp_path)
    assert sorted(found) == sorted(path.name for path in EXPECTED.iterdir())
    for name, text in found.items():
        assert text == (EXPECTED / name).read_text("utf-8"), name


def write() -> None:
    """Write the files that the tests expect."""
    EXPECTED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files(Path(folder)).items():
            (EXPECTED / name).write_text(text, "utf-8")
    with tempfile.TemporaryDirectory() as folder:
        TWO.write_text(of_two_files(Path(folder)), "utf-8")


if __name__ == "__main__":
    write()
