"""Pictures of a real run: its header names the tasks, its rows and side files are what pictures are made of."""

from __future__ import annotations

import shlex
from pathlib import Path

from bench_plugin.report.entries import entry
from bench_plugin.report.pictures import svg
from bench_plugin.report.pictures.deployment import deployment, specifications
from bench_plugin.report.pictures.registry import embedded
from bench_plugin.report.pictures.traces import traces
from tests.project import Project
from tests.report.pictures.drawing import marks

FAKE = Path(__file__).parents[2] / "fake"
TESTS = """
import pytest

@pytest.mark.bench(check="timing")
def test_timing(bench_cell):
    bench_cell.verify()
"""


def test_pictures_of_a_run(project: Project, tmp_path: Path) -> None:
    adapters = f'adapters = ["{FAKE / "framework.py"}", "{FAKE / "compiler.py"}"]\n'
    project.write("bench.toml", f'{adapters}toolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    project.write("test_models.py", TESTS)
    project.model("net", seconds=20)
    done = project.run("--compilers=fakec", "--bench-profile=smoke", "--precisions=fp32")
    header = next(row for row in done.rows if row["kind"] == "header")
    (one,) = [entry(row) for row in done.rows if row["kind"] == "cell"]
    assert header["titles"]["tasks"]["net"] == "classification", done.text

    found = {picture["name"]: picture["rows"] for picture in embedded([one], header["titles"])}
    assert {"throughput", "relative-throughput", "repetitions", "latency-parts", "funnel"} <= set(found), done.text
    (field,) = found["throughput"]
    assert (field["task"], field["line"]) == ("classification", "fakec")
    assert field["value"] > 0
    assert found["funnel"][-1]["stage"] == "supported" and found["funnel"][-1]["count"] == 1
    assert {path.stem for path in svg.write(tmp_path, [one], header)} == set(found)

    results = project.folder / "reports/results.jsonl"
    page = deployment(one, traces(results, one))
    assert page.command == shlex.join(["pytest", *one.repro]) and "--bench-compilers=fakec" in page.command
    times = next(figure for figure in page.figures if figure.title == "inference time, compute")
    assert times.mean and times.median and times.samples == one.numbers["timing"]["compute"]["samples"]
    drawing = next(one for one in specifications() if one["name"] == "inference-time")
    lines = marks(svg.drawn(drawing["specification"], page.rows["inference-time"]))["line"]
    assert lines == one.numbers["timing"]["launches"] + 1  # a line per launch, and one for all of system
