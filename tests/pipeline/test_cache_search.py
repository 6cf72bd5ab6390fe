"""Artefacts by content: a row names files by their hashes, and the entry that has exactly these is found."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bench_plugin.pipeline.cache import Cache
from bench_plugin.pipeline.cache.search import Artefacts
from tests.pipeline.stored import key_of, put, unsupported, version_of


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def keep(cache: Cache, name: str, *, stage: str = "compile", **files: bytes) -> None:
    """Store an entry that has files of these contents."""
    paths = {}
    for file, data in files.items():
        paths[file] = cache.folder.parent / f"{name}-{file}"
        paths[file].write_bytes(data)
    put(cache, name, stage=stage, files=paths)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """A cache with entries of two stages, some with the same files."""
    made = Cache(tmp_path / "cache")
    keep(made, "export", stage="export", model=b"1")
    put(made, "failed", stage="compile", arrays={}, failure=unsupported())
    for number in range(10):  # some of these are listed before the others
        keep(made, f"damaged {number}", model=b"1")
        keep(made, f"retired {number}", model=b"1")
        (version_of(made, f"damaged {number}") / "record.json").write_text("null")
        (version_of(made, f"retired {number}") / "retired").touch()
    keep(made, "one", model=b"1", notes=b"2")
    keep(made, "other", model=b"3")
    return made


def found(cache: Cache, stage: str = "compile", **digests: str) -> str | None:
    """The name of the entry that is found, whose files are those that were asked for."""
    got = Artefacts(cache, stage).find(digests)
    if got is None:
        return None
    key, entry = got
    assert {name: sha(path.read_bytes()) for name, path in entry.files.items()} == digests
    names = {key_of(name): name for name in ("export", "failed", "one", "other", "same")}
    return names[key]


def test_an_entry_is_found_by_exactly_its_files(cache: Cache) -> None:
    assert found(cache, model=sha(b"3")) == "other"
    assert found(cache, model=sha(b"1"), notes=sha(b"2")) == "one"
    assert found(cache, notes=sha(b"2"), model=sha(b"1")) == "one"
    assert found(cache, model=sha(b"1")) is None, "neither more files, nor those of entries that do not count"
    assert found(cache, other=sha(b"3")) is None
    assert found(cache, model=sha(b"3"), stage="export") is None
    assert found(cache, model=sha(b"1"), stage="export") == "export"


def test_a_stage_that_failed_has_no_artefacts(cache: Cache) -> None:
    assert found(cache) is None


def test_an_entry_that_went_or_changed_meanwhile_is_not_taken_for_what_it_was(cache: Cache) -> None:
    keep(cache, "same", model=b"3")
    artefacts, asked = Artefacts(cache, "compile"), {"model": sha(b"3")}
    assert len([name for name in ("other", "same") if found(cache, **asked) == name]) == 1
    (version_of(cache, "other") / "record.json").write_text("null")
    got = artefacts.find(asked)
    assert got is not None and got[0] == key_of("same"), "another recipe made the same"
    keep(cache, "same", model=b"4")
    assert artefacts.find(asked) is None
    keep(cache, "other", model=b"3")
    again = artefacts.find(asked)
    assert again is not None and again[0] == key_of("other"), "it has been made again"
