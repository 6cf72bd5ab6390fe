"""The table of compilers: figures from rows and traces, the catalogues, and the committed page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench_plugin.characterise.compliance.catalogues import (
    PUBLISHED,
    measured_text,
    read_catalogue,
    read_measured,
)
from bench_plugin.characterise.compliance.figures import Figures, Named, figures_of, named_of
from bench_plugin.cli.main import main
from bench_plugin.cli.shared.compliance.attributes_page import attributes_page, compilers_table, entries_table
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import read
from bench_plugin.report.formats import markdown

ROOT = Path(__file__).parents[2]
HEADER = {
    "kind": "header", "run": "r1", "titles": {"compilers": {"tool": {"title": "The Tool", "version": "1.0"}}},
}  # fmt: skip
SAME = {"compared": 2, "identical": True}


def row(check: str, model: str, status: str = "supported", precision: str = "fp32", **numbers: Any) -> dict[str, Any]:
    cell = {"check": check, "model": model, "compiler": "tool", "precision": precision}
    return {"kind": "cell", "run": "r1", "check": check, "cell": cell, "status": status, "numbers": numbers}


def timed(model: str, p99: float, sd: float, **bits: Any) -> dict[str, Any]:
    said = {"repeats": SAME, "launches": SAME, "tails": {"p99_p50": p99}, "spread": {"sd": sd}, **bits}
    return row("timing", model, determinism=said)


def test_preservation_counts_the_judged_cells_at_fp32() -> None:
    rows = [
        HEADER, row("equivalence", "a", needed=0.5), row("equivalence", "b", "mismatch", needed=3.0),
        row("equivalence", "c", "ERROR"), row("equivalence", "d", needed=9.0, precision="fp16"),
        row("equivalence", "a", needed=0.25),  # computed again: the last one counts
    ]  # fmt: skip
    found = figures_of(rows)["tool"]
    assert found.preservation is not None and found.title == "The Tool" and found.version == "1.0"
    assert (found.preservation.judged, found.preservation.preserved, found.preservation.worst) == (2, 1, 3.0)


def test_determinism_counts_bits_over_repeats_launches_and_threads() -> None:
    differs = {"compared": 2, "identical": False}
    rows = [timed("a", 1.2, 0.01), timed("b", 1.4, 0.03, threads=differs), timed("c", 2.0, 0.02, launches={})]
    found = figures_of(rows)["tool"].determinism
    assert found is not None and (found.cells, found.same_bits) == (3, 2)
    assert (found.p99_p50, found.spread) == (1.4, 0.02)


def trace(compiler: str, *statuses: str) -> dict[str, Any]:
    nodes = [{"name": "n", "status": status} for status in statuses]
    said = {"found": {"nodes": nodes}, "source": "its graph", "why": ""}
    return {"compiler": compiler, "title": "The Tool", "version": "1.0", **said}


def test_traces_are_read_from_what_bench_complies_prints() -> None:
    said = {
        "model": "net", "traces": [
            trace("tool", "traced", "fused into", "lost"),
            {**trace("mute"), "found": None, "why": "not readable"},
            {**trace("new"), "found": None, "why": "it failed"},
        ],
    }  # fmt: skip
    found = named_of(said)
    assert found["tool"].named == (Named("net", 3, 1, 1, "its graph"),)
    assert found["tool"].title == "The Tool" and "new" not in found
    assert found["mute"].not_readable == "not readable" and found["mute"].named == ()


def test_figures_are_updated_part_by_part() -> None:
    before = Figures("tool", "Tool", "1", named=(Named("a", 4, 4, 0, "x"), Named("b", 4, 0, 0, "x")))
    after = before.updated(Figures("tool", version="2", named=(Named("b", 4, 1, 0, "x"),)))
    assert (after.title, after.version) == ("Tool", "2") and [one.traced for one in after.named] == [4, 1]


def test_measured_figures_are_written_and_read_again(tmp_path: Path) -> None:
    rows = [HEADER, row("equivalence", "a", needed=0.5), timed("a", 1.25, 0.015)]
    found = {name: one.updated(Figures(name, named=(Named("net", 3, 1, 1, "its graph"),))) for name, one in
             figures_of(rows).items()}  # fmt: skip
    path = tmp_path / "compilers.toml"
    path.write_text(measured_text(found))
    assert read_measured(path) == found and measured_text(read_measured(path)) == path.read_text()
    assert read_measured(tmp_path / "none.toml") == {}


def test_an_empty_place_stays_empty() -> None:
    table = compilers_table({"tool": Figures("tool", "Tool", "1.0")})
    assert [cell.text for cell in table.rows[0]] == ["Tool 1.0", "", "", "", "", "", ""]


def test_measured_figures_stand_beside_the_published_framework() -> None:
    figures = figures_of([HEADER, row("equivalence", "a")])
    mine = {"tflite": Figures("tflite", preservation=figures["tool"].preservation)}
    table = entries_table(read_catalogue("frameworks"), mine)
    lines = {cells[0].text: [cell.text for cell in cells] for cells in table.rows}
    assert lines["TensorFlow Lite"][-3:] == ["100% (1 of 1)", "", ""] and lines["TensorRT"][-3:] == ["", "", ""]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_catalogue_invents_nothing(name: str, tmp_path: Path) -> None:
    catalogue = read_catalogue(name)
    assert "EC7.4" in catalogue.source and len(catalogue.entries) in (16, 17, 18)
    text = (ROOT / f"bench_plugin/data/catalogues/{name}.toml").read_text()
    for added, message in (('colour = "red"', "is the key of no attribute"), ('compiler = " "', "is empty")):
        path = tmp_path / "other.toml"
        path.write_text(f"{text}\n[[entries]]\n{added}\n")
        with pytest.raises(UsageError, match=message):
            read(path, type(catalogue))


def test_the_committed_page_is_what_the_command_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attributes", "--markdown"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs/attributes.md").read_text()
    page = attributes_page(read_measured(), {name: read_catalogue(name) for name in PUBLISHED})
    assert markdown.render(page) == (ROOT / "docs/attributes.md").read_text()
