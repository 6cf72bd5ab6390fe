"""A part of the page is made in a child process, which is gone afterwards, and in this one where there can be none."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("orjson", reason="comes with the extra report")

from bench_plugin.report.interactive.aside import Texts, made_aside


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores and one thread: workers of pytest have a thread of their own, which takes no locks of ours."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)


def own() -> Texts:
    return {"process": str(os.getpid()), "text": "é" * 200_000}  # more than a pipe holds


@pytest.mark.usefixtures("two_cores")
def test_texts_come_from_another_process_that_ends() -> None:
    before = children()
    with made_aside(own) as waited:
        assert len(children() - before) == 1
        made = waited()
    assert made["process"] != str(os.getpid()) and made["text"] == "é" * 200_000
    assert not children() - before


@pytest.mark.usefixtures("two_cores")
def test_what_cannot_be_made_there_fails_here() -> None:
    before = children()

    def fails() -> Texts:
        raise KeyError("of the cell")

    with pytest.raises(KeyError, match="of the cell"), made_aside(fails) as waited:
        waited()
    assert not children() - before


@pytest.mark.usefixtures("two_cores")
def test_no_process_is_left_where_nobody_waits_for_it() -> None:
    before = children()
    with pytest.raises(ZeroDivisionError), made_aside(own):
        1 / 0  # noqa: B018
    assert not children() - before


@pytest.fixture(params=["one core", "another thread", "no Linux"])
def alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    if request.param == "one core":
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
        monkeypatch.setattr(threading, "active_count", lambda: 1)
    elif request.param == "no Linux":
        monkeypatch.delattr(os, "sched_getaffinity")
        monkeypatch.setattr(threading, "active_count", lambda: 1)
    else:
        thread.start()
    yield
    end.set()
    if thread.ident:
        thread.join()


@pytest.mark.usefixtures("alone")
def test_texts_are_made_in_this_process_where_no_child_can_be_had() -> None:
    with made_aside(own) as waited:
        assert waited()["process"] == str(os.getpid())
