"""Versions of recipes on disk: their places and names, which one counts, and what older releases have left."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from bench_plugin.pipeline.cache import versions
from bench_plugin.pipeline.cache.versions import Version

KEY = "abcdef"
FIRST, SECOND = "000001-0000000f", "000002-0000000a"


def made(place: Path, *names: str) -> None:
    for name in names:
        (place / name).mkdir(parents=True)


def test_a_recipe_has_its_folder_below_the_first_two_characters() -> None:
    assert versions.place(Path("/c"), KEY) == Path("/c/entries/ab/abcdef")
    assert versions.name(Path("/c/entries/ab/abcdef") / FIRST) == "abcdef/000001-0000000f"


def test_the_newest_version_counts(tmp_path: Path) -> None:
    assert (versions.below(tmp_path / "none"), versions.current(tmp_path / "none")) == ([], None)
    assert (versions.below(tmp_path), versions.current(tmp_path)) == ([], None)
    made(tmp_path, SECOND, FIRST, "000009", "000009-0000000g", "x000009-00000000", "00009-00000000", "trash")
    assert versions.below(tmp_path) == [tmp_path / SECOND, tmp_path / FIRST]
    assert versions.current(tmp_path) == tmp_path / SECOND


def test_a_retired_version_does_not_count_and_lets_no_older_one_count(tmp_path: Path) -> None:
    made(tmp_path, FIRST, SECOND)
    versions.retire(tmp_path / FIRST)
    assert versions.current(tmp_path) == tmp_path / SECOND
    versions.retire(tmp_path / SECOND)
    assert versions.current(tmp_path) is None
    assert (tmp_path / SECOND / "retired").read_bytes() == b""
    with pytest.raises(FileNotFoundError):
        versions.retire(tmp_path / "gone")


@pytest.mark.parametrize(
    ("there", "number"),
    [([], "000001"), ([FIRST], "000002"), ([FIRST, "000041-ffffffff", SECOND], "000042"),
     (["999999-00000000"], "1000000")],
)  # fmt: skip
def test_the_next_version_has_the_next_number_and_a_name_of_its_own(
    tmp_path: Path, there: list[str], number: str
) -> None:
    made(tmp_path, *there)
    one, other = versions.following(tmp_path), versions.following(tmp_path)
    assert one.parent == other.parent == tmp_path and one != other
    for path in (one, other):
        assert re.fullmatch(number + "-[0-9a-f]{8}", path.name)


def file_of(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    return path


def test_a_scan_finds_every_version_and_what_has_none(tmp_path: Path) -> None:
    entries = tmp_path / "entries"
    file_of(entries / "ab/abcdef" / FIRST / "record.json", 10)
    file_of(entries / "ab/abcdef" / SECOND / "record.json", 20)
    file_of(entries / "ab/abcdef" / SECOND / "0.npy", 300)
    file_of(entries / "ab/abc000" / FIRST / "record.json", 5)
    file_of(entries / "ab/abc000" / FIRST / "retired", 0)
    file_of(entries / "ab/old/record.json", 7)
    file_of(entries / "cd/cdef/record.json", 7)
    file_of(entries / "cd/cdef" / FIRST / "record.json", 8)
    file_of(entries / "cd/empty/trash/file", 8)
    file_of(entries / "stray", 8)
    file_of(entries / "cd/file" / SECOND, 8)
    for number, path in enumerate(sorted(entries.glob("*/[ac]*/*-*"))):
        os.utime(path, (1000.0, 2000.0 + number))
    found, older = versions.scan(tmp_path)
    assert sorted(found, key=lambda one: one.path) == [
        Version(entries / "ab/abc000" / FIRST, False, 2000.0, 5),
        Version(entries / "ab/abcdef" / FIRST, False, 2001.0, 10),
        Version(entries / "ab/abcdef" / SECOND, True, 2002.0, 320),
        Version(entries / "cd/cdef" / FIRST, True, 2003.0, 8),
    ]
    assert sorted(older) == [entries / "ab/old", entries / "cd/cdef"]
    assert versions.scan(tmp_path / "none") == ([], [])


def test_entries_of_older_releases_go_with_their_files(tmp_path: Path) -> None:
    for name, used_at in (("a", 100.0), ("b", 101.0), ("c", 100.5), ("d", 99.0)):
        file_of(tmp_path / name / "record.json", 10)
        file_of(tmp_path / name / "0.npy", 300)
        if name == "d":  # this release has stored the recipe too
            file_of(tmp_path / name / FIRST / "record.json", 1000)
        os.utime(tmp_path / name, (used_at, used_at))
    places = [tmp_path / "gone", *(tmp_path / name for name in "abcd")]
    assert versions.remove_older_form(places, before=100.5) == (3, 930)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "d"]
    assert [path.name for path in (tmp_path / "d").iterdir()] == [FIRST]
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["0.npy", "record.json"]
    assert versions.remove_older_form([], before=100.5) == (0, 0)
