"""Runs side by side on one cache: no run loses what it writes or reads, and what ended runs leave is removed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cache.leases import Guard
from tests.pipeline.stored import at, key_of, names, put, start, version_of
from tests.project import Project

WRITE = """
    for number in range(100):
        name = f"{os.getpid()} {number}"
        stored = put(cache, name, number)
        assert stored.arrays["x"][0] == number
        found = cache.get(key_of(name))
        assert found is not None and found.arrays["x"][0] == number
"""
PRUNE = """
    print("ready", flush=True)
    while not (folder / "done").exists():
        cache.prune(limit_bytes=0)
        other = Cache(folder, limit_bytes=0)
        put(other, "short")
        other.close()
"""
REFRESH = """
    print("ready", flush=True)
    value = 0
    while not (folder / "done").exists():
        value += 1
        put(cache, "a", value)
        time.sleep(0.0005)
"""
READ = """
    found = cache.get(key_of("a"))
    print(found.arrays["x"][0], flush=True)
    sys.stdin.readline()
    print(found.arrays["x"][0], flush=True)
    sys.stdin.read()
"""
HALF = """
    class Slow(dict):
        def items(self):
            yield "first", np.zeros(100)
            print("half", flush=True)
            sys.stdin.readline()
            yield "second", np.ones(100)
    put(cache, "a", arrays=Slow())
    print(sorted(cache.get(key_of("a")).arrays), flush=True)
"""


def test_no_entry_is_lost_while_others_prune_and_close(tmp_path: Path) -> None:
    with at(tmp_path, PRUNE, "ready"), at(tmp_path, PRUNE, "ready"):
        writers = [start(tmp_path, WRITE) for _ in range(4)]
        said = [one.communicate(timeout=120)[0] for one in writers]
        assert said == ["", "", "", ""]
        assert [one.returncode for one in writers] == [0, 0, 0, 0]
        (tmp_path / "done").touch()


def test_what_is_read_stays_while_others_refresh_it(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a", 0.5)
    said: list[str] = []
    with at(tmp_path, REFRESH, "ready"), at(tmp_path, REFRESH, "ready"):
        values = []
        for _ in range(100):
            run = Cache(tmp_path, note=said.append)
            found = run.get(key_of("a"))
            assert found is not None, said
            values.append({float(value) for _ in range(3) for value in found.arrays["x"]})
            run.close()
        (tmp_path / "done").touch()
    assert said == []
    assert {len(one) for one in values} == {1}
    assert len(set(map(frozenset, values))) > 2, "entries were replaced all the while"


def test_a_replaced_version_goes_when_its_last_reader_has_ended(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a", 1)
    old = version_of(Cache(tmp_path), "a")
    with at(tmp_path, READ, "1.0") as process:
        assert process.stdin is not None and process.stdout is not None
        refreshing = Cache(tmp_path)
        put(refreshing, "a", 2)
        refreshing.prune(limit_bytes=0, older_seconds=0)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1.0\n"
        found = Cache(tmp_path).get(key_of("a"))
        assert found is not None and found.arrays["x"][0] == 2
        process.kill()
        process.wait()
    refreshing.prune(limit_bytes=10**9)
    assert not old.exists()
    assert names(refreshing) == {"a"}


def test_a_replaced_version_goes_at_once_when_nobody_reads_it(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a", 1)
    cache = Cache(tmp_path)
    put(cache, "a", 2)
    found = cache.get(key_of("a"))
    assert found is not None and found.arrays["x"][0] == 2
    version_of(cache, "a")  # there is one


def test_prune_spares_what_a_living_run_uses(tmp_path: Path) -> None:
    for name in "ab":
        put(Cache(tmp_path), name)
    with at(tmp_path, READ, "1.0") as process:
        assert Cache(tmp_path).prune(limit_bytes=0, older_seconds=-1)[0] == 1
        assert names(Cache(tmp_path)) == {"a"}
        process.kill()
        process.wait()
        assert Cache(tmp_path).prune(limit_bytes=0)[0] == 1
    assert names(Cache(tmp_path)) == set()
    assert [*tmp_path.glob("entries/*/*"), *tmp_path.glob("leases/*"), *tmp_path.glob("making/*")] == []


def test_a_half_made_entry_stays_while_its_run_lives(tmp_path: Path) -> None:
    with at(tmp_path, HALF, "half") as process:
        Cache(tmp_path).prune(limit_bytes=0)
        put(other := Cache(tmp_path, limit_bytes=0), "b")
        other.close()
        text, _ = process.communicate("\n", timeout=60)
    assert text == "['first', 'second']\n"


def test_a_half_made_entry_of_a_killed_run_is_removed(tmp_path: Path) -> None:
    with at(tmp_path, HALF, "half") as process:
        process.kill()
        process.wait()
    assert len(list(tmp_path.glob("making/*/*/0.npy"))) == 1
    put(other := Cache(tmp_path), "b")
    other.close()
    assert [*tmp_path.glob("making/*"), *tmp_path.glob("leases/*")] == []
    assert names(other) == {"b"}


def test_a_damaged_entry_stays_for_the_run_that_verified_it(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a", 1)
    with at(tmp_path, READ, "1.0") as process:
        version = version_of(Cache(tmp_path), "a")
        (version / "record.json").write_text("null")
        said: list[str] = []
        run = Cache(tmp_path, note=said.append)
        assert run.get(key_of("a")) is None and len(said) == 1
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1.0\n"
        assert run.get(key_of("a")) is None and len(said) == 1
        put(run, "a", 2)
        found = Cache(tmp_path).get(key_of("a"))
        assert found is not None and found.arrays["x"][0] == 2


def test_nothing_is_removed_while_another_run_chooses_what_it_reads(tmp_path: Path) -> None:
    for name in "ab":
        put(Cache(tmp_path), name)
    run = Cache(tmp_path)
    with Guard(tmp_path / "locks/guard").held(exclusive=False) as chosen:
        assert chosen
        assert run.get(key_of("a")) is not None, "others choose at the same time"
        assert run.prune(limit_bytes=0) == (0, 0)
    assert run.prune(limit_bytes=0)[0] == 1


def test_a_folder_that_is_removed_while_it_is_empty_loses_no_entry(tmp_path: Path) -> None:
    script = """
    from contextlib import suppress
    keys = [key_of(str(number)) for number in range(300)]
    print("ready", flush=True)
    while True:
        for key in keys:
            with suppress(OSError):
                os.rmdir(folder / "entries" / key[:2] / key)
    """
    said: list[str] = []
    cache = Cache(tmp_path, note=said.append)
    with at(tmp_path, script, "ready"):
        for number in range(300):
            put(cache, str(number), number)
    assert said == []
    assert cache.usage().entries == 300


def test_a_stopped_process_that_holds_the_guard_delays_and_does_not_block(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a")
    hold = """
    import fcntl
    file = cache.folder / "locks/guard"
    file.parent.mkdir(exist_ok=True)
    file = file.open("ab")
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
    """
    said: list[str] = []
    run = Cache(tmp_path, note=said.append)
    with at(tmp_path, hold, "held") as process:
        process.send_signal(signal.SIGSTOP)
        assert [run.get(key_of("a")) for _ in range(100)] == [None] * 100
        put(run, "b")
        assert run.prune(limit_bytes=0)[0] == 0
    assert said == [f"cache: {tmp_path}: a stopped process locks it; its entries are not used"]
    assert run.get(key_of("a")) is not None


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.nightly)])
def test_two_plain_runs_beside_one_that_refreshes_lose_no_row(project: Project, rounds: int) -> None:
    project.model("a")
    project.model("b", "export:pause")
    assert project.run().code == 0
    for _ in range(rounds):
        others = [
            project.start(f"--bench-results={name}/results.jsonl", *more)
            for name, more in (("refreshing", ["--bench-refresh"]), ("plain", []))
        ]
        finished = project.run()
        texts = [other.communicate(timeout=120)[0] for other in others]
        assert [finished.code, *(other.returncode for other in others)] == [0, 0, 0], texts
        for folder in ("reports", "refreshing", "plain"):
            rows = (project.folder / folder / "results.jsonl").read_text().splitlines()
            assert sum(json.loads(row)["kind"] == "cell" for row in rows) == 4
        said = [line for text in [finished.text, *texts] for line in text.splitlines() if "cache: " in line]
        assert [line for line in said if "is being made by process" not in line] == []


def test_arrays_are_those_of_the_version_that_was_found(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first = put(cache, "a", 1, arrays={"x": np.ones(3)})
    second = put(cache, "a", 2, arrays={"x": np.zeros(3)})
    assert (first.arrays["x"].sum(), second.arrays["x"].sum()) == (3.0, 0.0)
