"""The cache of one run: what it says and to whom, what it leaves on disk, and which entry it gives."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.domain.outcome import Cause, Failure, Stage, Symptom
from bench_plugin.pipeline.cache import LIMIT_BYTES, Cache, Patience, Usage, default_folder
from bench_plugin.pipeline.cache.leases import Guard, living
from bench_plugin.pipeline.cache.store import SPARED_SECONDS
from tests.pipeline.stored import key_of, names, put, unsupported, used, version_of

HOUR = 3600.0


def versions_of(folder: Path, name: str) -> list[Path]:
    """The versions of a recipe on disk, oldest first."""
    return sorted((folder / "entries" / key_of(name)[:2] / key_of(name)).glob("*"))


def size_of(version: Path) -> int:
    return sum(path.stat().st_size for path in version.iterdir())


def test_the_cache_is_the_users_and_has_twenty_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "stages"
    assert (LIMIT_BYTES, SPARED_SECONDS) == (20_000_000_000, 6 * HOUR)
    assert Patience() == Patience(say=2.0, stopped=10.0, longest=900.0, ending=1.0)


def test_what_a_run_leaves_on_disk(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "a/cache")
    assert cache.get(key_of("a")) is None
    put(cache, "a")
    (version,) = versions_of(cache.folder, "a")
    assert version.name.startswith("000001-")
    assert sorted(path.name for path in version.iterdir()) == ["0.npy", "record.json"]
    assert list(living(cache.folder / "leases").values()) == [frozenset({f"{key_of('a')}/{version.name}"})]
    cache.close()
    there = [".gitignore", "CACHEDIR.TAG", "entries", "leases", "locks", "making"]
    assert sorted(path.name for path in cache.folder.iterdir()) == there
    assert [*cache.folder.glob("leases/*"), *cache.folder.glob("making/*")] == []
    assert (cache.folder / ".gitignore").read_text() == "*\n"
    assert (cache.folder / "CACHEDIR.TAG").read_text() == (
        "Signature: 8a477f597d28d172789f06886806bc55\n# Results of stages; see `bench cache info`.\n"
    )
    assert [path.name for path in (cache.folder / "locks").iterdir()] == ["guard"]
    assert Cache(cache.folder).prune(limit_bytes=0)[0] == 1
    assert sorted(path.name for path in cache.folder.iterdir()) == there


def test_what_a_user_wrote_beside_the_entries_stays(tmp_path: Path) -> None:
    for name in ("CACHEDIR.TAG", ".gitignore"):
        (tmp_path / name).write_text("mine")
    put(Cache(tmp_path), "a")
    assert [(tmp_path / name).read_text() for name in ("CACHEDIR.TAG", ".gitignore")] == ["mine", "mine"]


@pytest.mark.parametrize(
    "failure",
    [
        Failure(Stage.EXPORT, Symptom.CRASH, "died"),
        Failure(Stage.EXPORT, Symptom.TIMEOUT, "late"),
        Failure(Stage.EXPORT, Symptom.UNSUPPORTED, "disk full", cause=Cause.ENVIRONMENT),
    ],
)
def test_a_failure_that_another_run_may_not_have_is_refused(tmp_path: Path, failure: Failure) -> None:
    with pytest.raises(ValueError) as caught:
        put(Cache(tmp_path), "a", failure=failure)
    assert str(caught.value) == f"a {failure.symptom} depends on more than its recipe and is never stored"
    assert list(tmp_path.iterdir()) == []


def test_what_is_returned_on_storing_is_what_is_read_later(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"onnx")
    cache = Cache(tmp_path / "cache")
    given = put(cache, "a", files={"model.onnx": tmp_path / "model"}, failure=unsupported())
    for entry in (cache.get(key_of("a")), Cache(cache.folder).get(key_of("a"))):
        assert entry is not None
        assert (entry.meta, entry.files, entry.failure, entry.seconds, entry.peak_bytes, entry.digests) == (
            given.meta, given.files, given.failure, given.seconds, given.peak_bytes, given.digests,
        )  # fmt: skip
        assert np.array_equal(entry.arrays["x"], given.arrays["x"])
    assert given.files["model.onnx"].parent == version_of(cache, "a")
    assert (given.failure, given.peak_bytes, given.meta) == (unsupported(), 7, {"name": "a"})


def test_where_nothing_can_be_stored_a_stage_is_returned_as_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("mine")
    said: list[str] = []
    cache = Cache(tmp_path / "cache", note=said.append)
    files = {"model.onnx": tmp_path / "cache"}
    for _ in range(2):  # the first finds out, the second knows
        given = put(cache, "a", files=files, failure=unsupported())
        assert (given.meta, given.seconds, given.peak_bytes, given.failure, given.files, given.digests) == (
            {"name": "a"}, {"export": 0.5}, 7, unsupported(), files, {},
        )  # fmt: skip
        assert given.arrays["x"].sum() == 250
    assert said == [f"cache: {tmp_path / 'cache'}: it is not a folder; the run goes on without storing"]


def test_a_stage_that_is_made_again_replaces_what_nobody_reads(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a", 1)
    reader = Cache(tmp_path)
    assert reader.get(key_of("a")) is not None
    put(writer := Cache(tmp_path), "a", 2)
    assert [one.name[:7] for one in versions_of(tmp_path, "a")] == ["000001-", "000002-"], "the first is read"
    found = reader.get(key_of("a"))
    assert found is not None and found.arrays["x"][0] == 2, "the newest counts for everybody"
    (held,) = [held for held in living(tmp_path / "leases").values() if len(held) == 2]
    assert held == {f"{key_of('a')}/{one.name}" for one in versions_of(tmp_path, "a")}, "the reader has both"
    reader.close()
    put(writer, "a", 3)
    assert [one.name[:7] for one in versions_of(tmp_path, "a")] == ["000002-", "000003-"], "its own may be in use"
    writer.close()
    assert [one.name[:7] for one in versions_of(tmp_path, "a")] == ["000003-"]


def test_a_damaged_entry_is_named_once_and_leaves_nothing(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a")
    (version_of(Cache(tmp_path), "a") / "0.npy").write_bytes(b"")
    size = 128 + 1000
    said: list[str] = []
    cache = Cache(tmp_path, note=said.append)
    assert [cache.get(key_of("a")) for _ in range(2)] == [None, None]
    assert said == [f"cache: {key_of('a')[:12]}: 0.npy has 0 bytes, not {size}; the entry is dropped"]
    assert [*tmp_path.glob("entries/*/*"), *tmp_path.glob("making/trash*")] == []


def test_a_damaged_entry_of_another_run_is_not_used_and_not_removed(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a")
    reader = Cache(tmp_path)
    assert reader.get(key_of("a")) is not None
    version = version_of(reader, "a")
    whole = (version / "record.json").read_bytes()
    (version / "record.json").write_bytes(b"null")
    said: list[str] = []
    run = Cache(tmp_path, note=said.append)
    assert [run.get(key_of("a")) for _ in range(2)] == [None, None]
    assert said == [f"cache: {key_of('a')[:12]}: record.json is not what was stored; the entry is dropped"]
    assert sorted(path.name for path in version.iterdir()) == ["0.npy", "record.json", "retired"]
    (version / "record.json").write_bytes(whole)
    assert Cache(tmp_path).get(key_of("a")) is None and reader.get(key_of("a")) is None, "it stays dropped"
    reader.close()
    run.close()
    assert run.prune(limit_bytes=10**9)[0] == 1
    assert not version.exists()


def test_a_damaged_entry_takes_its_older_versions_with_it(tmp_path: Path) -> None:
    """An older version is not what the recipe's newest run made."""
    put(Cache(tmp_path), "a", 1)
    reader = Cache(tmp_path)
    assert reader.get(key_of("a")) is not None
    put(Cache(tmp_path), "a", 2)
    first, second = versions_of(tmp_path, "a")
    (second / "record.json").write_bytes(b"null")
    assert Cache(tmp_path).get(key_of("a")) is None
    assert versions_of(tmp_path, "a") == [first] and (first / "retired").exists()
    assert Cache(tmp_path).get(key_of("a")) is None


def test_a_damaged_entry_that_cannot_be_retired_is_not_used(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a")
    version = version_of(Cache(tmp_path), "a")
    (version / "record.json").write_bytes(b"null")
    (version.parent / "000000-00000000").touch()  # a file in the place of an older version
    said: list[str] = []
    assert Cache(tmp_path, note=said.append).get(key_of("a")) is None
    assert said == [
        f"cache: {key_of('a')[:12]}: record.json is not what was stored; the entry is dropped",
        f"cache: {tmp_path}: Not a directory; the run goes on without storing",
    ]


def test_a_file_in_the_place_of_an_older_version_hinders_no_storing(tmp_path: Path) -> None:
    place = tmp_path / "entries" / key_of("a")[:2] / key_of("a")
    place.mkdir(parents=True)
    (place / "000000-00000000").touch()
    said: list[str] = []
    put(Cache(tmp_path, note=said.append), "a")
    assert said == [] and versions_of(tmp_path, "a") == [version_of(Cache(tmp_path), "a")]
    assert Cache(tmp_path, note=said.append).get(key_of("a")) is not None and said == []


def test_what_cannot_be_removed_is_said_and_stays(tmp_path: Path) -> None:
    put(writer := Cache(tmp_path), "a")
    writer.close()
    shutil.rmtree(tmp_path / "making")
    (tmp_path / "making").touch()
    said: list[str] = []
    assert Cache(tmp_path, note=said.append).prune(limit_bytes=0) == (0, 0)
    assert said == [f"cache: {tmp_path}: File exists; the run goes on without storing"]
    assert names(writer) == {"a"}


@pytest.mark.parametrize("damaged", "abc")
def test_usage_drops_what_is_damaged_and_says_it(tmp_path: Path, damaged: str) -> None:
    stages = {"a": "export", "b": "import", "c": "compile"}
    for name, stage in stages.items():
        put(Cache(tmp_path), name, stage=stage)
    size = {stage: (size_of(version_of(Cache(tmp_path), name)), 1) for name, stage in stages.items()}
    (version_of(Cache(tmp_path), damaged) / "0.npy").unlink()
    said: list[str] = []
    usage = Cache(tmp_path, note=said.append).usage()
    del size[stages[damaged]]
    assert usage == Usage(tmp_path, sum(one for one, _ in size.values()), 2, size)
    assert said == [f"cache: {key_of(damaged)[:12]}: 0.npy is missing; the entry is dropped"]
    assert Cache(tmp_path / "none").usage() == Usage(tmp_path / "none", 0, 0, {})


def test_usage_counts_no_version_that_was_replaced(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a", 1)
    reader = Cache(tmp_path)
    assert reader.get(key_of("a")) is not None
    put(Cache(tmp_path), "a", 2)
    assert len(versions_of(tmp_path, "a")) == 2
    assert Cache(tmp_path).usage().entries == 1


@pytest.fixture
def by_age(tmp_path: Path) -> Cache:
    """A cache with the entries a to d, of one size, used 4, 3, 2 and 1 hours ago; no run uses them."""
    made = Cache(tmp_path)
    for hours, name in enumerate("dcba", 1):
        put(made, name)
        used(made, name, ago=hours * HOUR)
    made.close()
    return Cache(tmp_path)


@pytest.mark.parametrize(
    ("fits", "older", "spared", "left"),
    [
        (4, None, 0.0, "abcd"),
        (2, None, 0.0, "cd"),
        (2, 3.5, 0.0, "cd"),
        (4, 2.5, 0.0, "cd"),
        (3, 2.5, 0.0, "cd"),
        (1, 3.5, 0.0, "d"),
        (0, None, 2.5, "cd"),
        (0, 0.0, 3.5, "bcd"),
        (2, 2.5, 9.0, "abcd"),
    ],
)
def test_what_is_old_goes_and_then_what_does_not_fit(
    by_age: Cache, fits: int, older: float | None, spared: float, left: str
) -> None:
    size = by_age.usage().bytes // 4
    older_seconds = None if older is None else older * HOUR
    dropped = by_age.prune(limit_bytes=fits * size, older_seconds=older_seconds, spared_seconds=spared * HOUR)
    assert dropped == (4 - len(left), (4 - len(left)) * size)
    assert names(by_age) == set(left)


def test_what_this_run_uses_makes_no_room_and_the_next_ones_go(by_age: Cache) -> None:
    size = by_age.usage().bytes // 4
    assert by_age.get(key_of("a")) is not None
    used(by_age, "a", ago=9 * HOUR)
    assert by_age.prune(limit_bytes=size) == (3, 3 * size)
    assert names(by_age) == {"a"}
    by_age.close()
    assert by_age.prune(limit_bytes=0) == (1, size), "a run that has ended uses nothing"


def test_nothing_is_dropped_while_leases_cannot_be_read(by_age: Cache) -> None:
    (by_age.folder / "leases").mkdir(exist_ok=True)
    (by_age.folder / "leases/folder").mkdir()
    said: list[str] = []
    cache = Cache(by_age.folder, note=said.append)
    assert cache.prune(limit_bytes=0) == (0, 0)
    assert said == [f"cache: {cache.folder}: Is a directory; nothing is dropped"]
    assert cache.get(key_of("a")) is not None
    cache.close()
    (by_age.folder / "leases/folder").rmdir()
    assert len(said) == 1 and names(cache) == set("abcd")


def test_the_bytes_of_an_older_release_are_counted(by_age: Cache) -> None:
    old = by_age.folder / "entries/ab" / ("ab" * 32)
    old.mkdir(parents=True)
    (old / "record.json").write_text(json.dumps({"hashes": {}}))
    os.utime(old, (time.time() - 2 * HOUR,) * 2)
    size = by_age.usage().bytes // 4
    assert by_age.prune(limit_bytes=3 * size, spared_seconds=3 * HOUR) == (1, size)
    assert by_age.prune(limit_bytes=2 * size, spared_seconds=1.5 * HOUR) == (2, size + 14)
    assert not old.exists()


def test_a_run_that_only_reads_removes_what_ended_runs_have_left(by_age: Cache) -> None:
    left = by_age.folder / "making/1-00000000/ab"
    left.mkdir(parents=True)
    (left / "0.npy").write_bytes(b"half")
    run = Cache(by_age.folder, limit_bytes=0)
    other = Cache(by_age.folder)
    put(other, "e")
    mine = by_age.folder / "making" / next(iter(living(by_age.folder / "leases")))
    (mine / "ef").mkdir(parents=True)
    assert run.get(key_of("a")) is not None
    run.close()
    assert list(by_age.folder.glob("making/*")) == [mine], "what a living run makes stays"
    assert names(by_age) == set("abcde"), "a run that stored nothing drops nothing"
    other.close()
    assert list(by_age.folder.glob("making/*")) == []


def test_what_is_no_folder_keeps_nothing_else_from_going(by_age: Cache) -> None:
    for number in range(20):
        (by_age.folder / f"making/{number}-00000000").touch()
    (by_age.folder / "making/left").mkdir()
    by_age.prune(limit_bytes=10**9)
    assert not (by_age.folder / "making/left").exists()


def test_a_run_whose_lease_cannot_be_written_reads_without_storing(tmp_path: Path) -> None:
    """Its disk is full, so other runs do not learn what it reads; it does not remove that itself."""
    for name in "ab":
        put(Cache(tmp_path), name)
    said: list[str] = []
    run = Cache(tmp_path, note=said.append)
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (7, kept[1]))
        found = run.get(key_of("a"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert found is not None and found.arrays["x"][0] == 1
    (lease,) = living(tmp_path / "leases")
    line = f"{tmp_path / 'leases' / lease} could not be written; the run goes on without storing"
    assert said == [f"cache: {tmp_path}: {line}"]
    assert run.prune(limit_bytes=0)[0] == 1
    assert names(run) == {"a"}


def test_a_run_without_a_lease_removes_nothing_when_it_is_closed(by_age: Cache) -> None:
    (by_age.folder / "making/1-00000000").mkdir()
    Cache(by_age.folder).close()
    assert len(list(by_age.folder.glob("making/*"))) == 1


def test_a_cache_that_was_closed_reads_and_stores_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, "a")
    cache.close()
    assert living(tmp_path / "leases") == {}
    given = put(cache, "b")
    assert given.arrays["x"].sum() == 250 and versions_of(tmp_path, "b") == []
    assert cache.get(key_of("a")) is not None
    assert living(tmp_path / "leases") == {}, "a run that has ended takes no new lease"
    cache.close()


def test_at_its_end_a_run_makes_room_for_what_it_stored(tmp_path: Path) -> None:
    for name in "ab":
        put(Cache(tmp_path), name)
    used(Cache(tmp_path), "a", ago=SPARED_SECONDS + 100)
    used(Cache(tmp_path), "b", ago=SPARED_SECONDS - 100)
    put(run := Cache(tmp_path, limit_bytes=0), "c")
    run.close()
    assert names(run) == {"b", "c"}


def test_entries_are_not_used_while_a_stopped_process_locks_them(tmp_path: Path) -> None:
    """The stopped process has chosen what it removes, perhaps this entry."""
    put(Cache(tmp_path), "a")
    said: list[str] = []
    run = Cache(tmp_path, note=said.append)
    with Guard(tmp_path / "locks/guard").held(exclusive=True) as alone:
        assert alone
        assert [run.get(key_of("a")) for _ in range(5)] == [None] * 5
        given = put(run, "b", 2)
        assert given.arrays["x"][0] == 2
        assert run.prune(limit_bytes=0) == (0, 0), "nor is any removed"
    with Guard(tmp_path / "locks/guard").held(exclusive=False):
        assert run.prune(limit_bytes=0) == (0, 0), "another run chooses what it reads"
    assert said == [f"cache: {tmp_path}: a stopped process locks it; its entries are not used"]
    assert run.get(key_of("a")) is not None and run.get(key_of("b")) is not None
    assert len(said) == 1


def test_an_entry_that_this_run_has_used_is_given_again_whoever_locks_the_cache(tmp_path: Path) -> None:
    for name in "ab":
        put(Cache(tmp_path), name)
    said: list[str] = []
    run = Cache(tmp_path, note=said.append)
    guard = Guard(tmp_path / "locks/guard")
    with guard.held(exclusive=False) as shared:
        assert shared and run.get(key_of("a")) is not None, "others choose at the same time"
        put(run, "c")
    with guard.held(exclusive=True) as alone:
        assert alone and run.get(key_of("a")) is not None and run.get(key_of("c")) is not None
        shutil.rmtree(version_of(run, "a"))
        assert run.get(key_of("a")) is None
    assert said == []


def test_the_recipe_of_an_ended_entry_is_free_for_a_new_one(by_age: Cache) -> None:
    assert by_age.prune(limit_bytes=0)[0] == 4
    assert [*by_age.folder.glob("entries/*/*"), *by_age.folder.glob("making/*")] == []
    put(by_age, "a")
    assert [one.name[:7] for one in versions_of(by_age.folder, "a")] == ["000001-"]


def test_the_lock_on_one_recipe_is_a_file_with_the_name_of_it(tmp_path: Path) -> None:
    with Cache(tmp_path).lock(key_of("a")):
        (path,) = (tmp_path / "locks").iterdir()
        assert path.name == f"{key_of('a')[:2]}.{key_of('a')[:16]}"
        with path.open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
