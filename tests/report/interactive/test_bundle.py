"""The library that draws in the page: packed once, kept in the user's cache, made again where that is not whole."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

pytest.importorskip("vl_convert", reason="comes with the extra report")
pytest.importorskip("orjson", reason="comes with the extra report")

import vl_convert

from bench_plugin.report.interactive.bundle import FORM, SNIPPET, vega_bundle
from bench_plugin.report.interactive.packing import unpack_bytes

SCRIPT = "(()=>{a library\n})()"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What the library was asked for to make, in a cache folder of its own; it takes seconds, so it is not run."""
    asked: list[str] = []
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: asked.append(snippet) or "a library")
    return asked


def kept(folder: Path) -> Path:
    [path] = (folder / "cache" / "report").iterdir()
    return path


def test_it_is_made_once_and_read_from_the_cache_then(made: list[str], tmp_path: Path) -> None:
    script, packed = vega_bundle()
    assert made == [SNIPPET] and script == SCRIPT and unpack_bytes(packed.encode()).decode() == SCRIPT
    assert kept(tmp_path).name == f"vega-{FORM}-of-vl-convert-{version('vl-convert-python')}.gz.b64"
    assert kept(tmp_path).read_text() == packed
    assert vega_bundle() == (script, packed) and made == [SNIPPET]


@pytest.mark.parametrize("text", ["", "no base64!", "AAAA"])
def test_what_is_damaged_in_the_cache_is_made_again(made: list[str], tmp_path: Path, text: str) -> None:
    first = vega_bundle()
    kept(tmp_path).write_text(text)
    assert vega_bundle() == first and made == [SNIPPET] * 2
    assert kept(tmp_path).read_text() == first[1]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(made: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert vega_bundle()[0] == SCRIPT and vega_bundle()[0] == SCRIPT and made == [SNIPPET] * 2
