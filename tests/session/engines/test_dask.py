"""``--bench-engine dask`` on workers of this machine, each a process of its own: what rows say, and what is refused."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bench_plugin
from bench_plugin import options
from bench_plugin.domain.errors import UsageError
from bench_plugin.results.rows import parse_rows
from bench_plugin.results.series import troubles
from tests.project import Finished, Project, make_project
from tests.session.engines.cluster import Cluster, cluster, left

pytest.importorskip("distributed", reason="needs pip install 'bench-plugin[dask]'")

MODELS = {"good": "", "wrong": "export:wrong-weights", "crash": "export:segfault"}
CELLS = "export or good"
WORKERS = ("n1", "n2", "n3")
FAKE = Path(__file__).parents[2] / "fake"
TESTS_OF_TIMES = """
import pytest

@pytest.mark.bench(check="timing")
def test_timing(bench_cell):
    bench_cell.verify()
"""
WATCH_SIGNALS = """
import signal

NUMBERS = [one for one in signal.Signals if one not in (signal.SIGKILL, signal.SIGSTOP)]
before = {}

def pytest_configure():
    before.update({one: signal.getsignal(one) for one in NUMBERS})

def pytest_terminal_summary(terminalreporter):
    changed = [one.name for one in NUMBERS if signal.getsignal(one) is not before[one]]
    terminalreporter.write_line(f"signals changed: {changed}")
"""


@pytest.fixture(scope="module")
def computers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler with three workers."""
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        for name in WORKERS:
            made.worker(name)
        made.await_workers(*WORKERS)
        yield made


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    """A project whose models go wrong in several ways."""
    project = make_project(tmp_path_factory.mktemp("project"), tools_python)
    for name, fault in MODELS.items():
        project.model(name, fault)
    project.write("conftest.py", WATCH_SIGNALS)
    project.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")  # also for warnings of other packages
    return project


@pytest.fixture(scope="module")
def finished(computers: Cluster, models: Project) -> Finished:
    """One run on the cluster."""
    return models.run("-v", "-k", CELLS, *engine(computers))


def engine(computers: Cluster) -> list[str]:
    return ["--bench-engine=dask", f"--bench-scheduler={computers.address}"]


def verdicts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What must not depend on the engine, by node id."""
    kept = ("key", "cell", "status", "result", "stage", "symptom", "reason", "expected", "versions", "flags", "host")
    kept += ("settings", "repro", "reusable", "unverified", "converted", "verified", "artefacts", "numbers")
    return {row["nodeid"]: {name: row[name] for name in kept} for row in rows if row["kind"] == "cell"}


def test_verdicts_are_those_of_the_local_engine(finished: Finished, models: Project) -> None:
    there = verdicts(finished.rows)
    here = verdicts(models.run("-k", CELLS, f"--bench-cache={models.folder / 'local'}").rows)
    assert len(here) == len(MODELS) + 1 and there.keys() == here.keys(), finished.text
    for nodeid, said in here.items():
        assert there[nodeid] == said


def test_a_row_says_where_it_was_computed_and_all_workers_computed(finished: Finished) -> None:
    places = [row["placement"]["worker"] for row in finished.cells("export").values()]
    assert {one["name"] for one in places} <= set(WORKERS)
    assert len({one["name"] for one in places}) > 1, "the export of one model is on one worker, of all on several"
    assert {len(one["node"]) for one in places} == {8}, "a digest of the machine's name, not the name"
    assert "workers: 3, machines: 1, cells side by side: 3" in finished.text


def test_the_log_of_a_failure_comes_with_its_row(finished: Finished, models: Project) -> None:
    row = finished.cells("export")["crash"]
    log = Path(row["log"])
    assert log.parent == models.folder / "reports/logs" and "Segmentation fault" in log.read_text()


def test_no_handler_of_a_signal_is_replaced(finished: Finished) -> None:
    assert "signals changed: []" in finished.text


def test_rows_are_resumed_on_a_cluster(finished: Finished, computers: Cluster, models: Project) -> None:
    again = models.run("--bench-resume", "-k", "good", *engine(computers))
    assert again.code == 0 and "2 rows reused" in again.text, again.text


def test_a_run_that_stops_early_leaves_no_agents(computers: Cluster, models: Project) -> None:
    models.model("slow", "export:sleep")
    try:
        stopped = models.run("-x", "-k", "export", *engine(computers), models="crash,slow")
    finally:
        (models.folder / "fixtures/models/slow.toml").unlink()
    assert stopped.code == 1 and set(stopped.cells()) == {"crash"}, stopped.text
    agents = [pid for name in WORKERS for pid in computers.below(name)[1:]]
    assert not left(agents, seconds=20), "the run is over, and the cell that computed was ended"


@pytest.mark.parametrize("to", ["the whole group", pytest.param("pytest alone", marks=pytest.mark.nightly)])
def test_ctrl_c_keeps_the_rows_so_far_and_cancels_what_is_not_computed(
    computers: Cluster, models: Project, to: str
) -> None:
    """To the whole group as a terminal sends it; to pytest alone as a supervisor does."""
    slow = [f"slow{number}" for number in range(len(WORKERS) + 2)]  # more than compute at one time
    for name in slow:
        models.model(name, "export:sleep")
    (models.folder / "reports/results.jsonl").unlink(missing_ok=True)
    try:
        running = models.start("-v", "-k", "export", *engine(computers), models=",".join(["good", *slow]))
        try:
            await_row(models, running, "good")
            os.kill(running.pid, signal.SIGINT) if to == "pytest alone" else os.killpg(running.pid, signal.SIGINT)
            text, _ = running.communicate(timeout=60)
        finally:
            running.kill()
            running.communicate()
    finally:
        for name in slow:
            (models.folder / f"fixtures/models/{name}.toml").unlink()
    assert running.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "KeyboardInterrupt" in text and "Traceback" not in text.partition("short test summary")[2], text
    rows = {row["cell"]["model"]: row["status"] for row in models.rows() if row["kind"] == "cell"}
    assert rows == {"good": "supported"}, "the rows so far, and none of what was cancelled"
    assert not left([pid for name in WORKERS for pid in computers.below(name)[1:]], seconds=20), "agents were ended"
    assert tasks(computers) == 0, "nothing waits on the scheduler"
    again = models.run("--bench-resume", "-k", "export", *engine(computers), models="good,wrong")
    assert "1 rows reused" in again.text and set(again.cells()) == {"good", "wrong"}, again.text


def await_row(project: Project, running: subprocess.Popen[str], model: str) -> None:
    """Wait until the row of a model is in the results file."""
    until = time.monotonic() + 100
    results = project.folder / "reports/results.jsonl"  # whose last line may be half written at any moment
    while not results.exists() or not any(
        row["kind"] == "cell" and row["cell"]["model"] == model for row in parse_rows(results).rows
    ):
        if running.poll() is not None or time.monotonic() > until:
            running.kill()
            pytest.fail(f"there is no row of {model}: {running.communicate()[0]}")
        time.sleep(0.1)


def tasks(computers: Cluster) -> int:
    """How many tasks the scheduler has, after it had some seconds to forget those that were cancelled."""
    code = """
import sys, time
from distributed import Client
with Client(sys.argv[1], timeout="20s") as client:
    for _ in range(100):
        found = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if not found:
            break
        time.sleep(0.2)
    print(found)
"""
    done = subprocess.run([sys.executable, "-c", code, computers.address], text=True, capture_output=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_worker_that_would_compute_something_else_is_refused(
    computers: Cluster, tmp_path: Path, project: Project
) -> None:
    project.model("net")
    older = tmp_path / "older"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(bench_plugin.__file__).parent, older / "bench_plugin", ignore=ignored)
    init = older / "bench_plugin/__init__.py"
    init.write_text(init.read_text().replace(bench_plugin.__version__, "0.0.1"))
    other = tmp_path / "other"
    for name in ("bench.toml", "fixtures", "toolchains"):
        part = project.folder / name
        (shutil.copytree if part.is_dir() else shutil.copy)(part, _below(other) / name)
    (other / "bench.toml").write_text("seed = 0\n" + (other / "bench.toml").read_text())
    toolchain = other / "toolchains/fake.toml"
    toolchain.write_text(toolchain.read_text().replace("memory_gb = 0.5", "memory_gb = 0.6"))
    computers.worker("old", environment={"PYTHONPATH": str(older)})
    computers.worker("moved", environment={"BENCH_PROJECT": str(other)})
    try:
        computers.await_workers("old", "moved")
        finished = project.run(*engine(computers))
    finally:
        computers.kill("old")
        computers.kill("moved")
    assert finished.code == pytest.ExitCode.USAGE_ERROR and not finished.rows, finished.text
    assert f"worker old: bench_plugin is 0.0.1 there and {bench_plugin.__version__} here" in finished.text
    assert "worker moved: project configuration is" in finished.text


def _below(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def test_without_a_scheduler_the_run_ends_before_it_begins(project: Project) -> None:
    project.model("net")
    project.environment["DASK_BENCH_PLUGIN__CONNECT"] = "1s"
    finished = project.run("--bench-engine=dask", "--bench-scheduler=tcp://127.0.0.1:9")
    assert finished.code == pytest.ExitCode.USAGE_ERROR and not finished.rows, finished.text
    assert "no Dask scheduler answers at tcp://127.0.0.1:9 within 1 s" in finished.text


@pytest.mark.nightly
def test_without_a_worker_the_run_ends_before_it_begins(tmp_path: Path, project: Project) -> None:
    project.model("net")
    project.environment["DASK_BENCH_PLUGIN__WORKERS"] = "1s"
    with cluster(tmp_path / "cluster") as made:
        finished = project.run(*engine(made))
    assert finished.code == pytest.ExitCode.USAGE_ERROR and not finished.rows, finished.text
    assert f"has no worker; start some with `dask worker {made.address}`" in finished.text


def test_without_the_package_the_message_names_the_extra(project: Project) -> None:
    project.model("net")
    project.write("distributed.py", "raise ImportError(\"No module named 'distributed'\")\n")
    finished = project.run("--bench-engine=dask")
    assert finished.code == pytest.ExitCode.USAGE_ERROR and not finished.rows, finished.text
    assert "pip install 'bench-plugin[dask]'" in finished.text


def test_workers_of_pytest_xdist_and_of_a_cluster_cannot_be_combined(project: Project) -> None:
    project.model("net")
    finished = project.run("--bench-engine=dask", "-n1")
    assert finished.code == pytest.ExitCode.USAGE_ERROR, finished.text
    assert (
        "--bench-engine dask: workers of pytest-xdist (-n) and those of a cluster cannot be combined" in finished.text
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bench-engine=dask", "--bench-jobs=4"], "leave --bench-jobs out"),
        (["--bench-engine=ray"], "unknown name 'ray'"),
        (["--bench-scheduler=tcp://127.0.0.1:8786"], "is for --bench-engine dask"),
        (["--bench-engine=dask", "--bench-scheduler=127.0.0.1:8786"], "is not an address such as tls://host:8786"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(
    pytestconfig: pytest.Config, arguments: list[str], said: str
) -> None:
    config = SimpleNamespace(option=pytestconfig._parser.parse_known_args(arguments))
    with pytest.raises(UsageError, match=re.escape(said)):
        options._engine(cast(pytest.Config, config))


@pytest.mark.nightly
def test_a_timing_brings_its_series(computers: Cluster, tmp_path: Path, tools_python: Path) -> None:
    project = make_project(tmp_path, tools_python)
    adapters = f'adapters = ["{FAKE / "framework.py"}", "{FAKE / "compiler.py"}"]'
    project.write("bench.toml", f'{adapters}\ntoolchains = ["toolchains"]\n')
    project.write("test_models.py", TESTS_OF_TIMES)
    project.model("net", seconds=20)
    run = ("--compilers=fakec", "--bench-profile=smoke", "--precisions=fp32")
    finished = project.run(*run, *engine(computers))
    (row,) = finished.cells().values()
    assert finished.code == 0 and row["numbers"]["timing"]["compute"]["median"] > 0, finished.text
    assert row["numbers"]["series"] and not troubles(project.folder / "reports/results.jsonl", [row])


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl (apt-get install openssl)")
def test_a_cluster_with_tls_takes_only_whom_it_knows(tmp_path: Path, project: Project) -> None:
    project.model("net")
    security = certificates(tmp_path / "certificates")
    with cluster(tmp_path / "cluster", scheme="tls", security=security) as made:
        made.worker("n1")
        made.await_workers("n1")
        project.environment["DASK_BENCH_PLUGIN__CONNECT"] = "2s"
        stranger = project.run(*engine(made))
        project.environment.update(security)
        finished = project.run(*engine(made))
    assert stranger.code == pytest.ExitCode.USAGE_ERROR and not stranger.cells(), stranger.text
    assert finished.code == 0 and len(finished.cells()) == 1, finished.text


def certificates(folder: Path) -> dict[str, str]:
    """Do what docs/scale.md says: make the certificates, and give Dask's configuration that names them."""
    folder.mkdir()
    page = (Path(__file__).parents[3] / "docs/scale.md").read_text("utf-8")
    make, export = (one for one in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S) if "certificate.pem" in one)
    subprocess.run(["bash", "-euc", make], cwd=folder, check=True, capture_output=True)
    said = subprocess.run(
        ["bash", "-euc", f"{export}\nenv"], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    found = dict(line.split("=", 1) for line in said.splitlines() if line.startswith("DASK_DISTRIBUTED__"))
    assert len(found) == 9
    return found
