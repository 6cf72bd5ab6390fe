"""A cache that cannot be written, or whose disk is full: the run works without storing and says so once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench_plugin.domain.paths import scratch_folder
from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cache.leases import living
from tests.mounts import MOUNTS, disk, mount
from tests.pipeline.stored import at, key_of, names, put, start, used, version_of
from tests.project import Finished, Project

ENDS = "the run goes on without storing"


@pytest.fixture
def own(project: Project, tools_python: Path) -> Project:
    """A project whose toolchains lie outside the cache's folder, so that they are there whatever that folder is."""
    project.write("toolchains/onnxruntime.toml", f'title = "O"\npython = "{tools_python}"\nmemory_gb = 2\n')
    return project


def without_option(project: Project) -> Finished:
    """A run whose cache is the user's own, not one of the command line."""
    command = [one for one in project.command() if not one.startswith("--bench-cache")]
    done = project.finish(command)
    return Finished(done.returncode, done.stdout, project.rows())


def usable(folder: Path, reason: str) -> None:
    """What a run does with its cache is done without storing; it is said once why."""
    said: list[str] = []
    cache = Cache(folder, note=said.append)
    for name in "ab":
        with cache.lock(key_of(name)):
            assert cache.get(key_of(name)) is None
            given = put(cache, name, arrays={"x": np.arange(3)})
            assert given.arrays["x"].tolist() == [0, 1, 2]
    assert cache.usage().entries == 0
    assert cache.prune(limit_bytes=0) == (0, 0)
    cache.close()
    assert said == [f"cache: {folder}: {reason}; {ENDS}"]


def test_the_folder_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    usable(tmp_path / "file", "it is not a folder")
    usable(tmp_path / "file/below", "Not a directory")
    assert (tmp_path / "file").read_text() == "mine"


def test_the_folder_cannot_be_made(tmp_path: Path) -> None:
    usable(Path("/proc/bench"), "No such file or directory")


@MOUNTS
def test_the_folder_is_read_only(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with disk(place, "size=1m"):
        put(Cache(place), "z")
        mount("-o", "remount,ro", str(place))
        said: list[str] = []
        cache = Cache(place, note=said.append)
        for name in "zzab":
            with cache.lock(key_of(name)):
                found = cache.get(key_of(name))
                assert (found is not None) == (name == "z")
                put(cache, name)
        assert cache.usage().entries == 1
        assert cache.prune(limit_bytes=0) == (0, 0)
        cache.close()
    assert said == [f"cache: {place}: Read-only file system; {ENDS}"]


@MOUNTS
def test_a_damaged_entry_of_a_read_only_folder_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with disk(place, "size=1m"):
        put(Cache(place), "a")
        (version_of(Cache(place), "a") / "record.json").write_text("null")
        (place / "leases/1-00000000").touch()  # of a run that was killed
        mount("-o", "remount,ro", str(place))
        said: list[str] = []
        run = Cache(place, note=said.append)
        assert run.get(key_of("a")) is None
        run.close()
        assert living(place / "leases") == {}
    dropped = f"cache: {key_of('a')[:12]}: record.json is not what was stored; the entry is dropped"
    assert said == [f"cache: {place}: Read-only file system; {ENDS}", dropped]


@pytest.mark.parametrize("files", ["arrays={'x': np.zeros(10_000_000)}", "arrays={}, files={'x': folder / 'large'}"])
def test_a_disk_ends_inside_a_file(tmp_path: Path, files: str) -> None:
    """The size of files is limited, so that writing fails in the midst of one."""
    (tmp_path / "large").write_bytes(bytes(10_000_000))
    script = f"""
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    put(cache, "a")
    for name in "bc":
        given = put(cache, name, {files})
        assert [values.size for values in given.arrays.values()] in ([], [10_000_000])
        assert [path.stat().st_size for path in given.files.values()] in ([], [10_000_000])
    assert cache.get(key_of("b")) is None
    assert cache.get(key_of("a")) is not None
    assert not list(folder.glob("making/*/*"))
    cache.close()
    """
    with start(tmp_path, script) as process:
        text, _ = process.communicate(timeout=60)
    assert text == f"cache: {tmp_path}: File too large; {ENDS}\n"
    assert process.returncode == 0


@MOUNTS
@pytest.mark.parametrize("kilobytes", range(4, 68, 12))
def test_the_disk_fills_at_any_point(tmp_path: Path, kilobytes: int) -> None:
    place = tmp_path / "disk"
    with disk(place, f"size={kilobytes}k"):
        said: list[str] = []
        cache = Cache(place, note=said.append)
        for number in range(30):
            with cache.lock(key_of(str(number))):
                assert cache.get(key_of(str(number))) is None
                assert put(cache, str(number), number).arrays["x"][0] == number
        cache.close()
        full = ("No space left on device", "only 0.00 GB of its disk are free")
        assert said in [[f"cache: {place}: {reason}; {ENDS}"] for reason in full]
        assert not list(place.glob("making/*"))
        again: list[str] = []
        following = Cache(place, note=again.append)
        found = [following.get(key_of(str(number))) for number in range(30)]
        assert [one.arrays["x"][0] for one in found if one] == list(range(len([one for one in found if one])))
        assert all(ENDS in text for text in again), "nothing half-written counts"
        following.close()
        assert Cache(place).prune(limit_bytes=0)[0] == len([one for one in found if one])


def test_a_run_on_a_full_disk_reads_in_peace(tmp_path: Path) -> None:
    for name in "bc":
        put(Cache(tmp_path), name)
    script = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    put(cache, "a", arrays={"x": np.zeros(10_000_000)})
    cache.get(key_of("b"))
    print("read", flush=True)
    sys.stdin.read()
    """
    with at(tmp_path, script, f"cache: {tmp_path}: File too large; {ENDS}") as process:
        assert process.stdout is not None and process.stdout.readline() == "read\n"
        assert Cache(tmp_path).prune(limit_bytes=0)[0] == 1
    assert names(Cache(tmp_path)) == {"b"}


def test_a_file_that_cannot_be_read_is_no_fault_of_the_cache(tmp_path: Path) -> None:
    said: list[str] = []
    cache = Cache(tmp_path, note=said.append)
    with pytest.raises(FileNotFoundError):
        put(cache, "a", files={"model.onnx": tmp_path / "missing"})
    put(cache, "b")
    assert Cache(tmp_path).get(key_of("b")) is not None
    assert said == []


def test_scratch_folders_lie_elsewhere_when_the_cache_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "file"))
    made = scratch_folder("test")
    made.rmdir()
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "folder"))
    below = scratch_folder("test")
    assert (below.parent, made.parent == below.parent) == (tmp_path / "folder/scratch", False)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_run_whose_cache_is_a_file_has_every_row(own: Project, place: str) -> None:
    own.model("a")
    own.model("b", "export:exception")
    own.write("file", "mine")
    own.environment["BENCH_CACHE"] = str(own.folder / place)
    finished = without_option(own)
    assert finished.verdict("a") == ("supported", None, None)
    assert finished.verdict("b") == ("ERROR", "export", "exception")
    assert len(finished.cells("export")) == len(finished.cells("import")) == 2
    assert finished.text.count(ENDS) == 1
    assert "INTERNALERROR" not in finished.text


@MOUNTS
def test_a_run_on_a_read_only_cache_uses_what_is_there(own: Project) -> None:
    own.model("a")
    own.environment["BENCH_CACHE"] = str(own.folder / "disk")
    with disk(own.folder / "disk", "size=10m"):
        assert without_option(own).code == 0
        own.model("b")
        mount("-o", "remount,ro", str(own.folder / "disk"))
        finished = without_option(own)
    assert finished.verdict("a") == finished.verdict("b") == ("supported", None, None)
    cells = finished.cells("export")
    assert "export" in cells["a"]["stages_cached"] and "export" not in cells["b"]["stages_cached"]
    assert finished.text.count(f"Read-only file system; {ENDS}") == 1


@MOUNTS
@pytest.mark.parametrize(("filled", "left"), [(False, {"a", "b", "c"}), (True, {"b", "c"})])
@pytest.mark.parametrize("ends", [False, True])
def test_where_the_disk_is_nearly_full_a_run_drops_what_was_not_used_for_ten_minutes(
    tmp_path: Path, filled: bool, left: set[str], ends: bool
) -> None:
    place = tmp_path / "disk"
    with disk(place, "size=32m"):
        for name, ago in (("a", 700), ("b", 500)):
            put(Cache(place), name)
            used(Cache(place), name, ago=ago)
        run = Cache(place)
        if ends:
            put(run, "c")
        if filled:
            (place / "other").write_bytes(bytes(30 * 2**20))
        if ends:
            run.close()
        else:
            put(run, "c")
        assert names(run) == left
        run.close()


@MOUNTS
def test_nothing_is_stored_before_the_disk_is_full(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with disk(place, "size=32m"):
        said: list[str] = []
        run = Cache(place, note=said.append)
        put(run, "a")
        (place / "other").write_bytes(bytes(31 * 2**20 + 500_000))
        for name in "bc":
            assert put(run, name).arrays["x"].size
        assert names(run) == {"a"}, "which this run uses, and would have to make again"
        assert said == [f"cache: {place}: only 0.00 GB of its disk are free; {ENDS}"]
        run.close()
