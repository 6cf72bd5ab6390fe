"""The pool: an agent may be started before it is leased; scratch folders that nobody owns any more are removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench_plugin.cli.main import main
from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.places import Room
from bench_plugin.reach.processes.leased_agent import AgentFailure, Source
from bench_plugin.reach.processes.supervisor import AgentPool
from tests.reach.processes.conftest import FAKE, LIMITS, ROOT, alive, guardian_of, make_pool, until


def test_a_prepared_agent_is_the_one_that_is_leased(pool: AgentPool, tmp_path: Path) -> None:
    with pool.lease("fake", role="compile"):
        pool.prepare("fake", role="run", adapter="fake")
        assert until(lambda: not pool.busy("fake", "run"))
        assert started(tmp_path) == 2
    with pool.lease("fake", role="run") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        pool.prepare("fake", role="run", adapter="fake")
    assert started(tmp_path) == 2


def test_a_lease_waits_for_the_agent_that_is_being_started(pool: AgentPool, tmp_path: Path) -> None:
    pool.prepare("fake", role="run", adapter="fake")
    with pool.lease("fake", role="run") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
    assert started(tmp_path) == 1


def test_what_cannot_be_prepared_is_told_by_the_lease(tmp_path: Path) -> None:
    def missing(name: str) -> Path:
        raise EnvironmentMissing(f"no {name}")

    pool = AgentPool(missing, tmp_path / "logs", lambda name: [], tmp_path / "scratch")
    pool.prepare("fake", role="run", adapter="fake")
    with pytest.raises(EnvironmentMissing, match="no fake"), pool.lease("fake", role="run"):
        pass
    pool.close()


def test_a_prepared_agent_imports_what_the_adapter_names(pool: AgentPool) -> None:
    text = FAKE.read_text().replace('"operations": ["go"],', '"operations": ["go"], "imports": ["colorsys", "absent"],')
    text = text.replace('"remembered": self.remembered', '"remembered": "colorsys" in sys.modules')
    pool._adapters = lambda name: [Source(name, text.encode())]
    pool.prepare("fake", role="run", adapter="fake")
    with pool.lease("fake", role="run") as agent:
        assert agent.call("fake", "go", {}, limits=LIMITS).meta["remembered"] is True


def test_the_copies_of_an_agent_go_with_it(pool: AgentPool, tmp_path: Path) -> None:
    (model := tmp_path / "model.onnx").write_bytes(b"m" * 1000)
    with pool.lease("fake", role="run") as agent:
        agent.call("fake", "go", {}, limits=LIMITS, files={"model.onnx": model})
        (folder,) = (tmp_path / "scratch").glob("run-*/fake-*")
        assert [one.stat().st_size for one in folder.rglob("*model.onnx")] == [1000]
    with pool.lease("fake", role="run", fresh=True) as agent:
        agent.call("fake", "go", {}, limits=LIMITS)
        assert not folder.exists() and len(list((tmp_path / "scratch").glob("run-*/fake-*"))) == 1


@pytest.mark.parametrize(
    ("room", "ends"),
    [(Room(share=1.0, seconds=0.0), True), (Room(share=1.0), False), (Room(share=0.0, seconds=0.0), False)],
    ids=["short", "used a moment ago", "enough"],
)
def test_an_agent_that_nobody_uses_ends_where_memory_is_short(tmp_path: Path, room: Room, ends: bool) -> None:
    pool = make_pool(tmp_path, room)
    try:
        with pool.lease("fake", role="compile") as agent:
            first = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        with pool.lease("fake", role="run") as agent:
            second = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
            assert alive(second) and alive(first) is not ends
            with pool.lease("fake", role="compile") as again:  # while another one is leased, and not idle
                assert (again.call("fake", "go", {}, limits=LIMITS).meta["pid"] == first) is not ends
                assert alive(second)
    finally:
        pool.close()


def test_an_agent_that_was_prepared_a_moment_ago_is_not_idle(tmp_path: Path) -> None:
    pool = make_pool(tmp_path, Room(share=1.0, seconds=3.0))
    try:
        with pool.lease("fake", role="run"):
            pass
        time.sleep(3.1)
        with pool.lease("fake", role="compile"):  # ends the one that nobody has used for so long
            pool.prepare("fake", role="run", adapter="fake")
            assert until(lambda: not pool.busy("fake", "run"))
        with pool.lease("fake", role="reference"):
            assert started(tmp_path) == 4
        with pool.lease("fake", role="run") as agent:
            assert agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        assert started(tmp_path) == 4
    finally:
        pool.close()


def slow_to_import(pool: AgentPool, marks: Path) -> None:
    """The fake adapter, whose making takes half a second and leaves a file, before its declared module is imported."""
    made = (
        f'open(os.path.join({str(marks)!r}, "made-%d" % os.getpid()), "w").close(); '
        'time.sleep(0.5); os.environ["MADE_FIRST"] = "1"'
    )
    marks.joinpath("seen_by_import.py").write_text(
        "import os, pathlib\n"
        "pathlib.Path(__file__).with_name(f'imported-{os.getpid()}').write_text(os.environ.get('MADE_FIRST', 'late'))\n"
    )
    text = FAKE.read_text().replace('"operations": ["go"],', '"operations": ["go"], "imports": ["seen_by_import"],')
    text = text.replace("    def __init__(self) -> None:", f"    def __init__(self) -> None:\n        {made}", 1)
    text = text.replace("import sys\n", f"import sys\nsys.path.insert(0, {str(marks)!r})\n", 1)
    pool._adapters = lambda name: [Source(name, text.encode())]


def test_agents_of_several_roles_are_ready_when_they_were_prepared(pool: AgentPool, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    slow_to_import(pool, marks)
    pool.prepare_all("fake", roles=("one", "two"), adapter="fake")
    imported = sorted(marks.glob("imported-*"))
    assert len(imported) == 2 and len(list(marks.glob("made-*"))) == 2, "nothing is imported any more afterwards"
    assert {one.read_text() for one in imported} == {"1"}, "the adapter was made before, with its variables"
    for role in ("one", "two"):
        with pool.lease("fake", role=role, fresh=True, alone=True) as agent:
            assert agent.calls == 0
            assert f"imported-{agent.call('fake', 'go', {}, limits=LIMITS).meta['pid']}" in {x.name for x in imported}
    assert started(tmp_path) == 2


def test_what_was_prepared_and_not_leased_is_ended(pool: AgentPool, tmp_path: Path) -> None:
    pool.prepare_all("fake", roles=("one", "two"), adapter="fake")
    with pool.lease("fake", role="one", fresh=True, alone=True) as agent:
        pid = agent.call("fake", "go", {}, limits=LIMITS).meta["pid"]
        other = pool._places["fake", "two"].agent
        pool.end_prepared("fake", roles=("one", "two", "never"))
        assert alive(pid) and other is not None and other.lost
    assert pool._places["fake", "two"].agent is None


def test_the_lease_says_what_hindered_agents_that_were_prepared_together(tmp_path: Path) -> None:
    def missing(name: str) -> Path:
        raise EnvironmentMissing(f"no {name}")

    pool = AgentPool(missing, tmp_path / "logs", lambda name: [], tmp_path / "scratch")
    pool.prepare_all("fake", roles=("one", "two"), adapter="fake")
    with pytest.raises(EnvironmentMissing, match="no fake"), pool.lease("fake", role="two"):
        pass
    pool.close()


def test_closing_ends_what_is_being_prepared(pool: AgentPool) -> None:
    pool.prepare("fake", role="run", adapter="fake")
    pool.close()
    assert until(lambda: not pool.busy("fake", "run"))


def test_an_agent_that_is_being_prepared_when_the_run_ends_brings_no_folder_back(tmp_path: Path) -> None:
    asked, over = threading.Event(), threading.Event()

    def slow(name: str) -> Path:
        asked.set()
        assert over.wait(30)
        return Path(sys.executable)

    pool = AgentPool(slow, tmp_path / "logs", lambda name: [], tmp_path / "scratch")
    pool.prepare("fake", role="run", adapter="fake")
    assert asked.wait(30)
    pool.close()
    over.set()
    assert until(lambda: not pool.busy("fake", "run"))
    assert list((tmp_path / "scratch").glob("run-*")) == []
    with pytest.raises(AgentFailure, match="the run is ending"), pool.lease("fake", role="run"):
        pass


def test_the_scratch_folder_stays_while_an_agent_is_being_made_in_it(tmp_path: Path) -> None:
    pool = make_pool(tmp_path)
    closing = threading.Thread(target=pool.close)
    with pool._scratch_in_use() as scratch:
        closing.start()
        closing.join(1.0)
        (scratch / "agent").write_bytes(b"made")
    closing.join(30)
    assert not scratch.exists()


# A host that says where its agent is, and sleeps.
HOST = """
import sys, time
from pathlib import Path
from tests.reach.processes.conftest import LIMITS, make_pool

pool = make_pool(Path(sys.argv[1]))
with pool.lease("fake") as agent:
    print(agent.call("fake", "go", {}, limits=LIMITS).meta["pid"], flush=True)
time.sleep(60)
"""


def test_scratch_that_lost_its_owners_is_removed_by_the_next_run(tmp_path: Path) -> None:
    """pytest and the guardian are killed together, so that neither removes the folder of the run."""
    scratch = tmp_path / "scratch"
    with subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as host:
        assert host.stdout is not None
        agent = int(host.stdout.readline())
        guardian = guardian_of(agent)
        make_pool(tmp_path).close()
        assert len(list(scratch.glob("run-*"))) == 1, "a run removed the folder of another one that lives"
        os.kill(guardian, signal.SIGSTOP)
        host.kill()
    os.kill(guardian, signal.SIGKILL)
    assert until(lambda: not alive(agent))
    assert list(scratch.glob("run-*"))
    assert until(lambda: gone_after_a_run(tmp_path))


def gone_after_a_run(folder: Path) -> bool:
    """Whether a run leaves no folder; a keeper of the killed run may hold its lock for a moment longer."""
    make_pool(folder).close()
    return not list((folder / "scratch").glob("run-*"))


def test_prune_removes_scratch_that_nobody_owns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folders = {name: tmp_path / "scratch" / name for name in ("run-left", "run-old", "run-new")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    (folders["run-left"] / "lock").touch()
    os.utime(folders["run-old"], (time.time() - 8 * 86400,) * 2)
    pool = make_pool(tmp_path / "other")
    folders["run-owned"] = tmp_path / "scratch" / "run-owned"
    pool._scratch.rename(folders["run-owned"])
    try:
        assert main(["cache", "prune", "--cache", str(tmp_path / "stages")]) == 0
    finally:
        folders["run-owned"].rename(pool._scratch)
        pool.close()
    assert "2 scratch folders of runs that are gone" in capsys.readouterr().out
    assert [name for name, folder in folders.items() if folder.exists()] == ["run-new"]


def started(folder: Path) -> int:
    """How many agents there were: each has a log of its own."""
    return len(list((folder / "logs").glob("*.log")))
