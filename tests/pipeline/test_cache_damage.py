"""Whatever byte of a stored entry changes, the entry is dropped with a line and never used."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cache.entry import Damaged, check_contents, read
from tests.pipeline.stored import key_of, put, unsupported, version_of
from tests.project import Project

CHANGES = 2000
NAMES = ("arrays", "files", "failure", "empty")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    """A cache with entries of four kinds."""
    (tmp_path / "model").write_bytes(bytes(range(256)))
    (tmp_path / "nothing").write_bytes(b"")
    files = {"model.onnx": tmp_path / "model", "empty": tmp_path / "nothing"}
    made = Cache(tmp_path / "cache")
    put(made, "arrays", arrays={"x": np.arange(12.0).reshape(3, 4), "name": np.array(["a", "bc"])})
    put(made, "files", arrays={}, files=files)
    put(made, "failure", arrays={}, failure=unsupported())
    put(made, "empty", arrays={}, meta={})
    yield made
    made.close()


def contents(version: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in version.iterdir()}


def write(version: Path, files: Mapping[str, bytes]) -> None:
    shutil.rmtree(version, ignore_errors=True)
    version.mkdir(parents=True)
    for name, data in files.items():
        (version / name).write_bytes(data)


def flipped(data: bytes, draw: random.Random) -> bytes:
    index = draw.randrange(len(data))
    return data[:index] + bytes([data[index] ^ draw.randrange(1, 256)]) + data[index + 1 :]


def noticed(cache: Cache, name: str) -> bool:
    """Whether a run says one line about the entry, does not get it, and leaves nothing for the next one."""
    said: list[str] = []
    run, following = Cache(cache.folder, note=said.append), Cache(cache.folder, note=said.append)
    unused = run.get(key_of(name)) is None and following.get(key_of(name)) is None
    run.close()
    following.close()
    removed = not list((cache.folder / "entries").glob(f"*/{key_of(name)}"))
    return unused and removed and len(said) == 1 and said[0].startswith(f"cache: {key_of(name)[:12]}: ")


def test_every_changed_byte_of_an_entry_is_noticed(cache: Cache) -> None:
    draw = random.Random(9)
    kept = {name: (version_of(cache, name), contents(version_of(cache, name))) for name in NAMES}
    cache.close()
    changes: list[Callable[[bytes], bytes | None]] = [
        lambda data: flipped(data, draw), lambda data: data[: draw.randrange(len(data))], lambda data: data + b"\0",
        lambda data: data[1:], lambda data: None,
    ]  # fmt: skip
    missed = []
    for number in range(CHANGES):
        name = draw.choice(NAMES)
        version, files = kept[name]
        file = draw.choice(sorted(files))
        change = changes[0] if draw.random() < 0.8 else draw.choice(changes)
        data = change(files[file]) if files[file] else b"\0"
        changed = {one: content for one, content in files.items() if one != file}
        write(version, changed if data is None else {**changed, file: data})
        if not noticed(cache, name):
            missed.append((number, name, file))
    assert missed == []
    for name, (version, files) in kept.items():
        write(version, files)
        assert Cache(cache.folder).get(key_of(name)) is not None, "the unchanged entry is as good as before"


@pytest.mark.parametrize("text", ["{}", "null", "", "[", '{"hashes": {}}'])
def test_a_record_of_other_content_is_dropped_by_every_command(project: Project, text: str) -> None:
    cache = Cache(project.folder / "cache")
    put(cache, "a")
    put(cache, "b")
    (version_of(cache, "a") / "record.json").write_text(text)
    cache.close()
    command = ("prune",) if text == "null" else ("info",)
    said = project.bench("cache", *command, "--cache", str(cache.folder))
    assert said.returncode == 0, said.stderr
    assert f"{key_of('a')[:12]}: record.json is not what was stored; the entry is dropped\n" in said.stderr
    assert "1 entries" in said.stdout
    again = project.bench("cache", "info", "--cache", str(cache.folder))
    assert (again.returncode, again.stderr) == (0, "")


def test_an_entry_in_the_place_of_another_recipe_is_noticed(cache: Cache) -> None:
    cache.close()
    there = version_of(cache, "files")
    shutil.rmtree(there)
    shutil.copytree(version_of(cache, "arrays"), there)
    assert noticed(cache, "files")


def test_a_file_that_was_not_stored_is_noticed(cache: Cache) -> None:
    cache.close()
    (version_of(cache, "files") / "files-0.onnx.data").write_bytes(b"weights")
    assert noticed(cache, "files")


def test_content_is_read_once_in_a_run(cache: Cache) -> None:
    cache.close()
    run, file = Cache(cache.folder), version_of(cache, "arrays") / "0.npy"
    assert run.get(key_of("arrays")) is not None
    file.write_bytes(flipped(file.read_bytes(), random.Random(1)))
    assert run.get(key_of("arrays")) is not None, "not hashed again: a warm run is fast"
    run.close()
    assert noticed(cache, "arrays"), "the next run does"


def test_a_file_that_cannot_be_read_is_not_believed(cache: Cache) -> None:
    version = version_of(cache, "files")
    record = read(version, key_of("files"))
    check_contents(version, record)
    (version / "files-0.onnx").unlink()
    with pytest.raises(Damaged, match=r"files-0\.onnx cannot be read: No such file"):
        check_contents(version, record)


def test_a_file_that_is_missing_or_shorter_is_noticed_at_each_use(cache: Cache) -> None:
    for name in ("arrays", "files"):
        run = Cache(cache.folder)
        assert run.get(key_of(name)) is not None
        for path in version_of(cache, name).glob("*0.*"):
            path.unlink()
        assert run.get(key_of(name)) is None
        run.close()
