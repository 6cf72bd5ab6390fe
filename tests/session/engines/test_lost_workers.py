"""Workers that die, freeze, or had the only board or toolchain: the run goes on, and says what happened."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.project import Project
from tests.session.engines.cluster import Cluster, cluster, left
from tests.session.engines.test_dask import engine

pytest.importorskip("distributed", reason="needs pip install 'bench-plugin[dask]'")

AT_WORK = 3  # processes of a worker that computes: it, its guardian, and at least one agent


def await_work(computers: Cluster, name: str) -> list[int]:
    """The processes of a worker, once it has agents."""
    until = time.monotonic() + 60
    while len(found := computers.below(name)) < AT_WORK:
        assert time.monotonic() < until, f"{name} computes nothing"
        time.sleep(0.02)
    return found


def test_a_killed_worker_costs_one_retry_and_one_with_the_only_toolchain_its_cells(
    tmp_path: Path, project: Project
) -> None:
    """One cluster for both: the worker n1 dies first, and then n2, without which there is no toolchain ``fake``."""
    project.model("first", "export:sleep?" + str(tmp_path / "hold"))
    project.model("second", "export:sleep?" + str(tmp_path / "hold"))
    hold = tmp_path / "hold"
    hold.touch()
    project.environment["DASK_BENCH_PLUGIN__PATIENCE"] = "1s"
    with cluster(tmp_path / "cluster") as made:
        made.worker("n1", resources="toolchain_fake=1")
        made.worker("n2", resources="toolchain_fake=1")
        made.worker("n3")
        made.await_workers("n1", "n2", "n3")
        with project.start("-v", "-k", "export", *engine(made)) as running:
            below = await_work(made, "n1")
            await_work(made, "n2")
            hold.unlink()
            made.kill("n1")
            assert not left(below, seconds=20), "a worker's agents end with it"
            text, _ = running.communicate(timeout=120)
        first = project.rows()
        hold.touch()
        with project.start("-v", "-k", "export", "--bench-refresh", *engine(made)) as running:
            await_work(made, "n2")
            made.kill("n2")
            lost, _ = running.communicate(timeout=120)
    rows = {row["cell"]["model"]: row for row in first if row["kind"] == "cell"}
    assert {row["status"] for row in rows.values()} == {"supported"}, text
    assert {row["placement"]["worker"]["name"] for row in rows.values()} == {"n2"}, "n3 has not the toolchain"
    assert [row["retry"]["workers"] for row in rows.values() if "workers" in row["retry"]] == [["worker n1 was lost"]]
    assert "cluster: worker n1 was lost; 1 of its cells go to other workers" in text
    reasons = [row["reason"] for row in project.rows() if row["kind"] == "cell"]
    missing = "no worker of the cluster has the resource toolchain_fake (worker n2 had it), for 1 s"
    assert sorted(reasons) == sorted([missing, f"worker n2 was lost; {missing}"]), lost
    assert running.returncode == pytest.ExitCode.TESTS_FAILED


@pytest.mark.nightly
def test_a_frozen_worker_costs_one_retry(tmp_path: Path, project: Project) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    project.model("first", f"export:sleep?{hold}")
    project.model("second", f"export:sleep?{hold}")
    project.environment["DASK_BENCH_PLUGIN__SILENT"] = "3s"
    with cluster(tmp_path / "cluster") as made:
        for name in ("n1", "n2"):
            made.worker(name)
        made.await_workers("n1", "n2")
        with project.start("-v", "-k", "export", *engine(made)) as running:
            below = await_work(made, "n1")
            await_work(made, "n2")
            hold.unlink()
            try:
                os.kill(made.processes["n1"].pid, signal.SIGSTOP)
                text, _ = running.communicate(timeout=120)
            finally:
                os.kill(made.processes["n1"].pid, signal.SIGCONT)
        assert running.returncode == 0, text
        made.kill("n1")
        assert not left(below, seconds=20)
    rows = [row for row in project.rows() if row["kind"] == "cell"]
    assert len(rows) == 2 and {row["placement"]["worker"]["name"] for row in rows} == {"n2"}
    assert "cluster: worker n1 sent no heartbeat for 3 s; 1 of its cells go to other workers" in text
    assert ["worker n1 sent no heartbeat for 3 s"] in [row["retry"].get("workers") for row in rows]


@pytest.mark.nightly
def test_when_the_scheduler_dies_the_run_ends_with_a_row_for_every_cell(tmp_path: Path, project: Project) -> None:
    project.model("net", "export:sleep")
    project.environment["DASK_BENCH_PLUGIN__SILENT"] = "2s"
    with cluster(tmp_path / "cluster") as made:
        made.worker("n1")
        made.await_workers("n1")
        with project.start("-v", "-k", "export", *engine(made)) as running:
            await_work(made, "n1")
            made.kill("scheduler")
            text, _ = running.communicate(timeout=120)
    (row,) = [row for row in project.rows() if row["kind"] == "cell"]
    assert row["symptom"] == "harness" and f"the scheduler at {made.address} does not answer" in row["reason"], text
