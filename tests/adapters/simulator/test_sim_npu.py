"""The simulated accelerator: bit-exact integers, its partition report, and a cell of it through the whole plugin."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import Project

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("compare_simulator.py")
TESTS = """
import pytest

@pytest.mark.bench(check="equivalence")
def test_equivalence(bench_cell):
    bench_cell.verify()
"""


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> Path:
    if not Toolchains().folder("onnxruntime").is_dir():
        pytest.skip("the toolchain onnxruntime is not made: bench env sync onnxruntime")
    return Toolchains().ensure("onnxruntime")


@pytest.fixture(scope="module")
def compared(toolchain: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [str(toolchain), str(SCRIPT), str(tmp_path_factory.mktemp("graphs"))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("variant", ["own", "cpu", "cut"])
def test_every_integer_is_that_of_the_quantised_graph_in_float64(compared: dict[str, Any], variant: str) -> None:
    found = compared[variant]
    assert set(found["different"].values()) == {0}, found["different"]
    assert found["output"] < 1e-6, "the output is dequantised to float32"
    assert len(found["different"]) >= (14 if variant != "cut" else 4)


def test_every_instruction_is_used(compared: dict[str, Any]) -> None:
    kinds = set(compared["own"]["kinds"])
    assert kinds >= {"convolution", "product", "add", "multiply", "maximum", "average", "move", "join"}, kinds


def test_the_report_has_cycles_and_says_why_the_graph_was_cut(compared: dict[str, Any]) -> None:
    own, cpu, cut = (compared[name]["report"] for name in ("own", "cpu", "cut"))
    assert [one["place"] for one in own["subgraphs"]] == ["cpu", "npu", "cpu"]
    assert own["subgraphs"][0]["cut"] == "quantisation of floating point runs on the CPU"
    assert own["subgraphs"][1]["passed_bytes"] == 3 * 8 * 8, "the integers of the input"
    assert own["cycles"] >= sum(one["cycles"] for one in own["nodes"]) > 0 and 0 < own["utilisation"] <= 1
    assert {one["place"] for one in own["nodes"] if one["instruction"]} == {"npu"}
    deep = [one for one in cpu["nodes"] if one["place"] == "cpu" and one["instruction"]]
    assert [one["why"] for one in deep] == ["depthwise convolutions run on the CPU"] and deep[0]["operators"][
        0
    ] == "Conv"
    assert len(cpu["subgraphs"]) == 5 and cpu["cycles"] > own["cycles"]
    assert [one["place"] for one in cut["subgraphs"]] == ["cpu", "npu", "cpu", "npu", "cpu"]
    reasons = {one["why"] for one in cut["nodes"] if one["operators"] == ["Erf"]}
    assert reasons == {"there is no instruction for Erf"} == {cut["subgraphs"][2]["cut"]}


def test_batch_normalisation_behind_a_convolution_breaks_the_pipeline(compared: dict[str, Any]) -> None:
    report = compared["normalised"]["report"]
    (why,) = {one["why"] for one in report["nodes"] if one["operators"] == ["BatchNormalization"]}
    assert why == "BatchNormalization between convolution and activation breaks the pipeline"
    assert len(report["subgraphs"]) == 5
    assert why == report["subgraphs"][2]["cut"], "not the quantisation nodes around it"


def test_a_cell_of_the_target_runs_here_and_is_bit_exact(project: Project) -> None:
    """Relation 6: a network between quantisation nodes falls into three subgraphs."""
    project.write("test_models.py", TESTS)
    project.model("net")
    done = project.run("--compilers=sim_npu", "--targets=sim-npu", "--precisions=w8a8")
    (row,) = [row for row in done.rows if row["kind"] == "cell"]
    assert (row["status"], done.code) == ("supported", 0), done.text
    assert row["cell"]["target"] == "sim-npu" and row["cell"]["graph"] == "qdq"
    assert row["numbers"]["worst_steps"] <= 0.5, "each integer is the nearest one"
    assert all(one["largest_steps"] < 1e-3 for one in row["numbers"]["end_to_end"])
    placement = row["placement"]
    assert (placement["integer"], placement["integer_share"], placement["timing"]) == ("integer", 1.0, "emulated")
    assert [one["place"] for one in placement["simulated"]["subgraphs"]] == ["cpu", "npu", "cpu"]
    assert placement["simulated"]["cycles"] > 0 and {"report.json", "program.json"} <= set(row["artefacts"])


def test_options_choose_the_machine(project: Project) -> None:
    project.write("test_models.py", TESTS)
    project.model("net")
    options = ("--bench-option=sim_npu.elements=128", "--bench-option=sim_npu.memory=512KiB")
    done = project.run("--compilers=sim_npu", "--targets=sim-npu", "--precisions=w8a8", *options)
    (row,) = [row for row in done.rows if row["kind"] == "cell"]
    machine = row["placement"]["simulated"]["machine"]
    assert (machine["elements"], machine["memory_bytes"]) == (128, 512 * 1024), done.text


def test_another_target_is_declared_unsupported(project: Project) -> None:
    project.write("test_models.py", TESTS)
    project.model("net")
    done = project.run("--compilers=sim_npu", "--precisions=w8a8")
    assert "sim_npu compiles for sim-npu; asked for local" in done.text


def test_seconds_of_the_simulator_are_no_times(project: Project) -> None:
    project.write("test_models.py", TESTS.replace("equivalence", "timing"))
    project.model("net", seconds=20)
    only = ("--targets=sim-npu", "--precisions=w8a8", "--bench-profile=smoke")
    done = project.run("--compilers=sim_npu", *only)
    (row,) = [row for row in done.rows if row["kind"] == "cell"]
    assert row["placement"]["timing"] == "emulated" and not (row["numbers"]["timing"] or {}).get("compute"), done.text
    said = project.bench("choose", "--max-latency", "1s", "--require", "target=sim-npu")
    assert said.returncode == 3 and "latency unknown" in said.stdout, said.stdout + said.stderr
