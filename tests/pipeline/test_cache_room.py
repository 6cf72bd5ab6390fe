"""What the cache keeps and what it drops: sizes, ages, order, and what is spared."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cache.store import SPARED_SECONDS
from tests.pipeline.stored import BYTES, key_of, names, put, unsupported, used, version_of
from tests.project import Project

DAY = 86400.0


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """A cache that has the entries a, b and c, used 3, 1 and 2 days ago; no run uses them."""
    made = Cache(tmp_path / "cache")
    for name, days in (("a", 3), ("b", 1), ("c", 2)):
        put(made, name)
        used(made, name, ago=days * DAY)
    made.close()
    return Cache(tmp_path / "cache")


def test_what_is_stored_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"onnx")
    cache = Cache(tmp_path / "cache")
    arrays = {"x": np.arange(6, dtype=np.int8).reshape(2, 3), "scalar": np.float64(2.5), "text": np.array(["ä"])}
    given = put(cache, "a", arrays=arrays, files={"model.onnx": tmp_path / "model", "odd.": tmp_path / "model"})
    put(cache, "b", arrays={}, failure=unsupported())
    for entry in (given, cache.get(key_of("a")), Cache(cache.folder).get(key_of("a"))):
        assert entry is not None
        assert (entry.meta, entry.seconds, entry.peak_bytes) == ({"name": "a"}, {"export": 0.5}, 7)
        assert {name: values.tolist() for name, values in entry.arrays.items()} == {
            "x": [[0, 1, 2], [3, 4, 5]], "scalar": 2.5, "text": ["ä"],
        }  # fmt: skip
        assert entry.arrays["x"].dtype == np.int8
        assert {name: (path.suffix, path.read_bytes()) for name, path in entry.files.items()} == {
            "model.onnx": (".onnx", b"onnx"), "odd.": ("", b"onnx"),
        }  # fmt: skip
    failed = Cache(cache.folder).get(key_of("b"))
    assert failed is not None and failed.failure == unsupported()
    assert cache.get(key_of("c")) is None


def test_a_crash_is_not_stored(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(ValueError, match="never stored"):
        put(cache, "a", failure=Failure(Stage.EXPORT, Symptom.CRASH, "died"))
    assert cache.get(key_of("a")) is None


def test_a_file_name_that_no_disk_takes_is_stored(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"onnx")
    given = {f"long.{'x' * 300}": tmp_path / "model", "null.\0": tmp_path / "model"}
    stored = put(Cache(tmp_path / "cache"), "a", files=given)
    assert {name: path.read_bytes() for name, path in stored.files.items()} == dict.fromkeys(given, b"onnx")


def test_an_array_of_objects_leaves_nothing_behind(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(ValueError):
        put(cache, "a", arrays={"x": np.array([{}], dtype=object)})
    assert [path for path in (tmp_path / "making").rglob("*") if path.is_file()] == []
    put(cache, "b")
    assert names(cache) == {"b"}


def test_the_folder_is_no_part_of_backups_and_repositories(tmp_path: Path) -> None:
    put(Cache(tmp_path), "a")
    assert (tmp_path / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_usage_counts_by_stage(cache: Cache) -> None:
    put(cache, "d", stage="compile", arrays={})
    usage = cache.usage()
    assert (usage.entries, {stage: count for stage, (_, count) in usage.stages.items()}) == (
        4, {"export": 3, "compile": 1},
    )  # fmt: skip
    sizes = [sum(file.stat().st_size for file in version_of(cache, name).iterdir()) for name in "abc"]
    assert usage.stages["export"] == (sum(sizes), 3)
    assert usage.bytes == sum(sizes) + usage.stages["compile"][0]


@pytest.mark.parametrize(("fits", "left"), [(3, "abc"), (2, "bc"), (1, "b"), (0, "")])
def test_the_least_recently_used_go_first_until_the_rest_fits(cache: Cache, fits: int, left: str) -> None:
    size = cache.usage().bytes // 3
    assert cache.prune(limit_bytes=fits * size) == (3 - fits, (3 - fits) * size)
    assert names(cache) == set(left)
    assert cache.usage().bytes == fits * size


def test_a_byte_less_than_fits_costs_an_entry(cache: Cache) -> None:
    assert cache.prune(limit_bytes=cache.usage().bytes - 1)[0] == 1
    assert names(cache) == {"b", "c"}


@pytest.mark.parametrize(("days", "left"), [(3.5, "abc"), (2.5, "bc"), (1.5, "b"), (0.5, "")])
def test_entries_that_were_not_used_for_long_go(cache: Cache, days: float, left: str) -> None:
    assert cache.prune(limit_bytes=10**9, older_seconds=days * DAY)[0] == 3 - len(left)
    assert names(cache) == set(left)


def test_what_was_used_a_moment_ago_is_spared(cache: Cache) -> None:
    assert cache.prune(limit_bytes=0, older_seconds=0, spared_seconds=1.5 * DAY)[0] == 2
    assert names(cache) == {"b"}


def test_what_this_run_used_is_spared(cache: Cache) -> None:
    assert cache.get(key_of("a")) is not None
    used(cache, "a", ago=9 * DAY)
    size = cache.usage().bytes // 3
    assert cache.prune(limit_bytes=2 * size) == (1, size), "the next one goes instead"
    assert {name for name in "bc" if list((cache.folder / "entries").glob(f"*/{key_of(name)}"))} == {"b"}
    assert cache.prune(limit_bytes=0)[0] == 1
    assert names(cache) == {"a"}


def test_a_hit_updates_the_time(cache: Cache) -> None:
    for _ in range(2):  # the first use in a run, and a later one
        used(cache, "a", ago=9 * DAY)
        assert cache.get(key_of("a")) is not None
        assert time.time() - version_of(cache, "a").stat().st_mtime < DAY / 2
    cache.close()
    later = Cache(cache.folder)
    later.prune(limit_bytes=BYTES * 2)
    assert names(cache) == {"a"}


def test_the_end_of_a_run_brings_the_cache_below_its_limit(cache: Cache) -> None:
    size = cache.usage().bytes // 3
    run = Cache(cache.folder, limit_bytes=2 * size)
    put(run, "d")
    run.close()
    assert names(cache) == {"b", "d"}
    used(cache, "b", ago=SPARED_SECONDS * 0.9)
    put(run := Cache(cache.folder, limit_bytes=0), "e")
    run.close()
    assert names(cache) == {"b", "d", "e"}, "another run may use what was used in the last hours"


def test_a_run_that_stored_nothing_drops_nothing(cache: Cache) -> None:
    run = Cache(cache.folder, limit_bytes=0)
    assert run.get(key_of("c")) is not None
    run.close()
    assert names(cache) == {"a", "b", "c"}


def test_entries_of_an_older_release_go_when_nobody_uses_them(tmp_path: Path) -> None:
    for name, days in (("a", 2.0), ("b", 0.5)):
        old = tmp_path / "entries" / key_of(name)[:2] / key_of(name)
        old.mkdir(parents=True)
        (old / "record.json").write_text(json.dumps({"hashes": {}, "stage": "export"}))
        (old / "0.npy").write_bytes(b"12345")
        os.utime(old, (time.time() - days * DAY,) * 2)
    cache = Cache(tmp_path)
    assert (names(cache), cache.usage().entries) == (set(), 0)
    put(cache, "a")
    assert cache.prune(limit_bytes=10**9, spared_seconds=DAY)[0] == 0, "storing used the folder"
    assert cache.prune(limit_bytes=10**9)[0] == 2
    assert names(cache) == {"a"}
    assert not (tmp_path / "entries" / key_of("b")[:2] / key_of("b")).exists()


def test_the_command_drops_by_size_and_age(project: Project) -> None:
    cache = Cache(project.folder / "cache")
    for name, days in (("a", 3), ("b", 1), ("c", 2)):
        put(cache, name)
        used(cache, name, ago=days * DAY)
    cache.close()
    older = project.bench("cache", "prune", "--older-days", "2.5", "--cache", str(cache.folder))
    assert older.stdout.splitlines()[0] == "dropped 1 entries, 0.00 GB; 0 scratch folders of runs that are gone"
    small = project.bench("cache", "prune", "--keep-gb", "0.000002", "--json", "--cache", str(cache.folder))
    assert json.loads(small.stdout)["dropped_entries"] == 1
    assert names(cache) == {"b"}, "c was used before b"
