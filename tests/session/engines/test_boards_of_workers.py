"""Boards that hang on the machines of a cluster: who has which, and what happens when the one that has it dies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.session.engines.cluster import Cluster, cluster
from tests.session.engines.test_dask import engine
from tests.session.engines.test_lost_workers import await_work
from tests.session.test_pools import POOL, pool

__all__ = ["pool"]

pytest.importorskip("distributed", reason="needs pip install 'bench-plugin[dask]'")
pytestmark = pytest.mark.nightly


def started(made: Cluster, environment: dict[str, str]) -> None:
    """Three workers, of which two have a board each."""
    known = {name: environment[name] for name in ("PYTHONPATH", "XDG_CACHE_HOME")}
    for name, board in zip(("n1", "n2"), POOL, strict=True):
        made.worker(name, resources=f"board_{board}=1", environment=known)
    made.worker("n3", environment=known)
    made.await_workers("n1", "n2", "n3")


def test_a_cell_runs_where_its_board_is_and_on_all_boards_on_each(tmp_path: Path, pool: Any) -> None:
    project, _ = pool
    with cluster(tmp_path / "cluster") as made:
        started(made, project.environment)
        one = project.run(*engine(made))
        every = project.run("--bench-all-boards", *engine(made))
    (row,) = one.cells().values()
    place = (row["placement"]["worker"]["name"], row["placement"]["board"]["name"])
    assert one.code == 0 and place in {("n1", "pi-1"), ("n2", "pi-2")}, one.text
    (row,) = every.cells().values()
    assert every.code == 0 and {name: said["status"] for name, said in row["numbers"]["boards"].items()} == {
        "pi-1": "supported", "pi-2": "supported",
    }, every.text  # fmt: skip


def test_the_only_board_dies_with_its_worker_and_its_cells_say_so(tmp_path: Path, pool: Any) -> None:
    project, _ = pool
    (project.folder / "boards/pi-2.toml").unlink()
    project.model("net", "export:sleep")
    project.environment["DASK_BENCH_PLUGIN__PATIENCE"] = "1s"
    with cluster(tmp_path / "cluster") as made:
        started(made, project.environment)
        with project.start("-v", *engine(made)) as running:
            await_work(made, "n1")
            made.kill("n1")
            text, _ = running.communicate(timeout=120)
    (row,) = [row for row in project.rows() if row["kind"] == "cell"]
    assert row["symptom"] == "harness", text
    missing = "no worker of the cluster has the resource board_pi-1 (worker n1 had it), for 1 s"
    assert row["reason"] == f"worker n1 was lost; {missing}"
