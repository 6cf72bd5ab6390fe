"""Files of rows that are kept compressed: every command reads them, and a damaged one is no empty one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bench_plugin.cli.main import main
from bench_plugin.domain.errors import UsageError
from bench_plugin.results.checking.reading import read_source, sources
from bench_plugin.results.history import run_of_file
from bench_plugin.results.rows import read_rows
from tests.results.nights import Row, axes, failed, night, passed, run_id, write

ROWS: list[Row] = night(1, passed(axes(), E=1e-7, M=0), failed(axes("vgg")))


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return write(tmp_path / "night.jsonl", ROWS)


@pytest.fixture
def kept(plain: Path) -> Path:
    return _compressed(plain, plain.read_bytes())


def _compressed(plain: Path, content: bytes) -> Path:
    path = plain.with_name("kept.jsonl.gz")
    path.write_bytes(gzip.compress(content))
    return path


def test_compressed_rows_are_those_of_the_file(plain: Path, kept: Path) -> None:
    assert read_rows(kept) == read_rows(plain) and len(read_rows(kept).rows) == len(ROWS)
    assert run_of_file(kept) == run_id(1)


def test_a_folder_stands_for_its_compressed_files_too(plain: Path, kept: Path) -> None:
    assert sources([plain.parent]) == [kept, plain]
    assert read_source(kept, note=pytest.fail) == read_source(plain, note=pytest.fail)


def test_the_pages_are_those_of_the_plain_file(plain: Path, kept: Path) -> None:
    pages = []
    for path in (plain, kept):
        to = path.parent / path.suffix
        assert main(["grid", str(path), "--output", str(to), "--format", "md"]) == 1  # a cell failed
        pages.append({one.name: one.read_text() for one in to.iterdir()})
    assert pages[0] == pages[1] and "equivalence.md" in pages[0]


def test_merging_writes_the_same_compressed_file_every_time(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = plain.with_name("merged.jsonl.gz")
    contents = []
    for _ in range(2):
        assert main(["merge", str(plain), "-o", str(to)]) == 0
        contents.append(to.read_bytes())
        assert {row["run"] for row in read_rows(to).rows} == {run_id(1)}
    assert contents[0] == contents[1]
    assert main(["history", "check", str(to)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("cut", ["the end", "the middle", "no gzip"])
def test_a_damaged_file_is_an_error_that_names_it(plain: Path, kept: Path, cut: str) -> None:
    whole = kept.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "the end": whole[:-9],
        "the middle": whole[:middle] + bytes(byte ^ 255 for byte in whole[middle : middle + 40]) + whole[middle + 40 :],
        "no gzip": plain.read_bytes(),
    }
    kept.write_bytes(damaged[cut])
    with pytest.raises(UsageError, match=r"kept\.jsonl\.gz: cannot read results: it is no whole gzip file"):
        read_rows(kept)
    with pytest.raises(UsageError, match="it is no whole gzip file"):
        read_source(kept, note=lambda _: None)
