"""Timing through the whole plugin, with a compiler of the tests' own: the verdict beside the time, and the row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.project import Finished, Project

FAKE = Path(__file__).parent.parent / "fake"
TESTS = """
import pytest

@pytest.mark.bench(check="timing")
def test_timing(bench_cell):
    bench_cell.verify()
"""


@pytest.fixture
def timed(project: Project) -> Project:
    """A project with one model, and the fake compiler beside the fake framework."""
    adapters = f'adapters = ["{FAKE / "framework.py"}", "{FAKE / "compiler.py"}"]\n'
    project.write("bench.toml", f'{adapters}toolchains = ["toolchains"]\nenvironment = ["FAKE_*"]\n')
    project.write("test_models.py", TESTS)
    project.model("net", seconds=20)
    return project


def run(project: Project, *arguments: str, fault: str = "none") -> Finished:
    named = ["--compilers=fakec", f"--bench-option=fakec.fault={fault}", "--bench-profile=smoke"]
    return project.run(*named, "--precisions=fp32", *arguments)


def the_row(finished: Finished) -> Mapping[str, Any]:
    rows = [row for row in finished.rows if row["kind"] == "cell"]
    assert len(rows) == 1, finished.text
    return rows[0]


def test_a_time_is_beside_its_verdict_and_three_figures_are_apart(timed: Project) -> None:
    finished = run(timed)
    row = the_row(finished)
    assert finished.code == 0 and row["status"] == "supported", finished.text
    assert row["numbers"]["E"] < row["numbers"]["tolerance_E"] and row["artefacts"]["model.onnx"]["sha256"]
    timing = row["numbers"]["timing"]
    assert 2 <= timing["launches"] <= 3 and timing["inputs"] == 64
    assert 0 < timing["compute"]["min"] <= timing["compute"]["median"] <= timing["compute"]["max"]
    assert len(timing["compute"]["launch_medians"]) == timing["launches"]
    assert "OMP_WAIT_POLICY" not in timing["conditions"].get("variables", {})  # threads may spin: it works alone
    assert timing["system"]["median"] > timing["compute"]["median"]  # request and answer beside the model
    assert timing["system"]["by"] == "a deployed model" and timing["handshake"]["median"] > 0
    assert timing["first_inference"] > 0 and timing["interval"]["kind"] == "over launches"
    assert timing["throughput"]["kind"] == "closed loop" and timing["throughput"]["per_second"] > 0
    assert {"clock_cost", "drift", "spread_over_launches", "bare_loop_ratio"} <= set(timing["error_budget"])
    assert timing["error_budget"]["clock_cost"] > 0
    assert {"threads", "affinity", "allocator", "denormals_flushed", "load_before"} <= set(timing["conditions"])
    assert row["numbers"]["determinism"]["launches"]["identical"] is True and "deterministic" not in row["numbers"]


def test_samples_are_kept_beside_the_rows_by_their_content(timed: Project) -> None:
    row = the_row(run(timed))
    for name in ("compute", "system"):
        said = row["numbers"]["series"][name]
        values = np.load(timed.folder / "reports" / said["file"])
        assert values.dtype == np.float64 and len(values) == said["samples"] and (values > 0).all()
    assert row["numbers"]["series"]["compute"]["samples"] == row["numbers"]["timing"]["compute"]["samples"]


def test_the_time_of_a_wrong_result_stays_in_the_row_beside_the_mismatch(timed: Project) -> None:
    finished = run(timed, fault="run-wrong")
    row = the_row(finished)
    assert finished.code == 1 and (row["status"], row["symptom"]) == ("mismatch", "mismatch")
    assert row["numbers"]["timing"]["compute"]["median"] > 0
    page = (timed.folder / "reports/timing.md").read_text()
    assert "mismatch" in page and " us" in page


@pytest.mark.parametrize(
    ("fault", "status", "stage"), [("run-crash", "ERROR", "run"), ("compile-exception", "ERROR", "compile")]
)
def test_what_fails_has_no_time(timed: Project, fault: str, status: str, stage: str) -> None:
    row = the_row(run(timed, fault=fault))
    assert (row["status"], row["stage"]) == (status, stage)
    assert not row["numbers"]["timing"]


def test_every_launch_is_a_process_of_its_own(timed: Project) -> None:
    """The fault is of the second run of a process: in one that served another launch, results would be wrong."""
    row = the_row(run(timed, fault="run-leaks"))
    assert row["status"] == "supported" and row["numbers"]["timing"]["launches"] >= 2


def test_launches_that_give_other_bits_are_said_to_vary(timed: Project) -> None:
    timed.environment["FAKE_COUNTER"] = str(timed.folder / "counter")
    row = the_row(run(timed, fault="run-jitters"))
    assert row["status"] == "supported" and row["numbers"]["determinism"]["launches"]["identical"] is False


def test_times_are_taken_anew_by_the_next_run_and_by_one_that_resumes(timed: Project) -> None:
    first, again = the_row(run(timed)), the_row(run(timed))
    assert {"compile", "reference"} <= set(again["stages_cached"]) and "time" not in again["stages_cached"]
    assert first["numbers"]["timing"]["compute"] != again["numbers"]["timing"]["compute"]
    resumed = run(timed, "--bench-resume")
    assert "0 rows reused" in resumed.text
    rows = [row for row in resumed.rows if row["kind"] == "cell"]
    assert rows[-1]["numbers"]["timing"]["compute"] != again["numbers"]["timing"]["compute"]


def test_workers_of_xdist_take_no_times(timed: Project) -> None:
    finished = run(timed, "-n2")
    row = the_row(finished)
    assert finished.code == 0 and row["status"] == "unverified" and "needs -n0" in row["reason"]
    assert not row["numbers"]["timing"]


def test_the_page_has_a_table_per_model_and_the_error_budget(timed: Project) -> None:
    timed.model("other", seconds=20)
    finished = run(timed)
    page = (timed.folder / "reports/timing.md").read_text()
    assert page.count("ratio to the best") == 2 and page.count("to the bare loop") == 2
    assert "closed loop" in page and "not an MLPerf result" in page
    assert "Times: Model net" in finished.text and "Times: Model other" in finished.text


def with_own_compilers(project: Project) -> Project:
    """The fake compiler as one that needs no request, and the same again in a toolchain that is not made."""
    ready = (FAKE / "compiler.py").read_text().replace('"on_request": True', '"on_request": False')
    absent = ready.replace('"name": "fakec"', '"name": "absentc"').replace('"toolchain": "fake"', '"toolchain": "away"')
    project.write("ready.py", ready)
    project.write("absent.py", absent)
    project.write("toolchains/away.toml", 'title = "Away"\npython = "/nowhere/bin/python"\nmemory_gb = 0.5\n')
    adapters = f'adapters = ["{FAKE / "framework.py"}", "ready.py", "absent.py"]\n'
    project.write("bench.toml", f'{adapters}toolchains = ["toolchains"]\n')
    return project


def test_compilers_are_those_that_are_ready_and_another_says_how_to_add_it(timed: Project) -> None:
    finished = with_own_compilers(timed).run("--bench-profile=smoke", "-k", "fakec")
    assert finished.code == 0 and the_row(finished)["status"] == "supported", finished.text
    line = "not timed: absentc: toolchain away is not made; bench env sync away, or --compilers absentc, adds it"
    assert line in finished.text and line in (timed.folder / "reports/timing.md").read_text()
    collected = timed.run("--bench-profile=smoke", "--collect-only", "-q").text
    assert "onnxruntime]" in collected and "fakec]" in collected and "absentc" not in collected.partition("=")[0]
    assert "bf16" not in collected  # small profiles take fp32


def test_the_processes_of_a_pair_start_before_the_first_is_timed(timed: Project) -> None:
    marks = timed.folder / "marks"
    marks.mkdir()
    note = f'open("{marks}/%s-%d" % ("WHAT", os.getpid()), "a").write("%d\\n" % time.monotonic_ns())'
    text = (FAKE / "compiler.py").read_text().replace('"operations"', '"imports": ["json"], "operations"', 1)
    text = text.replace(
        "        self._runs = 0\n", f"        self._runs = 0\n        {note.replace('WHAT', 'made')}\n", 1
    )
    head, run_of, body = text.partition("    def run(self, call: RunCall)")
    end = body.index('"""\n', body.index('"""') + 3) + 4
    timed.write("noting.py", f"{head}{run_of}{body[:end]}        {note.replace('WHAT', 'ran')}\n{body[end:]}")
    adapters = f'adapters = ["{FAKE / "framework.py"}", "noting.py"]\n'
    timed.write("bench.toml", f'{adapters}toolchains = ["toolchains"]\n')
    assert the_row(run(timed))["status"] == "supported"
    ran = sorted((int(path.read_text().split()[0]), path.name.partition("-")[2]) for path in marks.glob("ran-*"))
    made = [int((marks / f"made-{pid}").read_text()) for _, pid in ran]
    assert len(ran) >= 2 and made[1] < ran[0][0], "the second process is ready before the first one computes"
    assert all(begun > ran[1][0] for begun in made[2:]), "and no further one starts while they compute"


def test_a_compiler_that_was_named_is_taken_though_it_is_not_ready(timed: Project) -> None:
    collected = with_own_compilers(timed).run("--bench-profile=smoke", "--compilers=absentc", "--collect-only", "-q")
    assert "absentc]" in collected.text and "fakec]" not in collected.text


def test_series_of_the_machine_are_recorded_beside_the_times(timed: Project) -> None:
    row = the_row(run(timed))
    assert row["status"] == "supported" and row["numbers"]["machine"]["kernel"]
    series = row["numbers"]["series"]
    assert {"compute", "system"} < set(series) and row["numbers"]["sampler"]["hz"] > 0
    recorded = [one for one in series.values() if "unit" in one]
    assert any(one["samples"] > 0 for one in recorded), "something was read while the model ran"
    assert "Series over time" in (timed.folder / "reports/timing.md").read_text()
