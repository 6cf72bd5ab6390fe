"""Leases and their guard: what a living run uses is named, and what ended runs have left is removed."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

import pytest

from bench_plugin.pipeline.cache.leases import Guard, Lease, living, opened_lock
from tests.pipeline.stored import start

MOMENT = 0.02  # seconds that a guard of these tests waits


def test_a_lease_names_every_version_once(tmp_path: Path) -> None:
    lease = Lease(tmp_path / "cache/leases")
    assert (lease.held, living(tmp_path / "cache/leases")) == (frozenset(), {lease.name: frozenset()})
    for version in ("a/1", "b/2", "a/1"):
        lease.add(version)
    assert re.fullmatch(rf"{os.getpid()}-[0-9a-f]{{8}}", lease.name)
    assert (tmp_path / "cache/leases" / lease.name).read_bytes() == b"\na/1\n\nb/2\n"
    assert lease.held == {"a/1", "b/2"}
    assert living(tmp_path / "cache/leases") == {lease.name: frozenset({"a/1", "b/2"})}
    lease.release()


def test_a_version_that_was_dropped_is_held_by_this_run_no_longer(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.add("a/1")
    lease.drop("a/1")
    lease.drop("b/2")
    assert lease.held == frozenset()
    assert living(tmp_path) == {lease.name: frozenset({"a/1"})}, "others learn it when the lease ends"
    lease.add("a/1")
    assert lease.held == {"a/1"}
    lease.release()


def test_every_living_run_has_a_lease_of_its_own(tmp_path: Path) -> None:
    one, other = Lease(tmp_path), Lease(tmp_path)
    one.add("a/1")
    other.add("b/2")
    assert living(tmp_path) == {one.name: frozenset({"a/1"}), other.name: frozenset({"b/2"})}
    one.release()
    assert living(tmp_path) == {other.name: frozenset({"b/2"})}
    assert [path.name for path in tmp_path.iterdir()] == [other.name]
    one.release()
    other.release()
    assert (living(tmp_path), list(tmp_path.iterdir())) == ({}, [])
    assert living(tmp_path / "none") == {}


def test_the_lease_of_an_ended_run_is_removed(tmp_path: Path) -> None:
    (tmp_path / "1-00000000").write_text("\na/1\n")
    lease = Lease(tmp_path)
    assert living(tmp_path) == {lease.name: frozenset()}
    assert [path.name for path in tmp_path.iterdir()] == [lease.name]
    lease.release()


def test_a_lease_whose_file_a_user_has_removed_ends_all_the_same(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    (tmp_path / lease.name).unlink()
    lease.release()
    assert living(tmp_path) == {}


def test_a_lease_that_goes_while_it_is_read_hides_no_other(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}-00000000").symlink_to(tmp_path / "gone")
    lease = Lease(tmp_path)
    assert living(tmp_path) == {lease.name: frozenset()}
    lease.release()


def test_a_lease_ends_with_its_object(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.add("a/1")
    del lease
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_neither_ends_nor_keeps_the_lease_of_its_parent(tmp_path: Path) -> None:
    script = """
    import fcntl
    from bench_plugin.pipeline.cache.leases import Lease, living
    lease = Lease(folder)
    lease.add("a/1")
    child = os.fork()
    if child == 0:
        lease.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert living(folder) == {lease.name: frozenset({"a/1"})}
    other = (folder / lease.name).open("rb")
    child = os.fork()
    if child == 0:
        time.sleep(600)
    lease.release()
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(child, signal.SIGKILL)
    print("free")
    """
    with start(tmp_path, script) as process:
        assert process.communicate(timeout=60)[0] == "free\n"


def test_a_version_that_cannot_be_written_is_not_held(tmp_path: Path) -> None:
    """No other run would know of it."""
    lease = Lease(tmp_path)
    lease.add("a/1")
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (7, kept[1]))
        with pytest.raises(OSError, match=re.escape(f"{tmp_path / lease.name} could not be written")):
            lease.add("b/2")
        assert lease.held == {"a/1"}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    lease.add("c/3")
    assert "c/3" in living(tmp_path)[lease.name], "a line that was cut spoils no other"
    lease.release()


def test_some_read_under_the_guard_at_once_and_one_writes_alone(tmp_path: Path) -> None:
    one, other = (Guard(tmp_path / "locks/guard", seconds=MOMENT) for _ in "12")
    with one.held(exclusive=False) as reads:
        with other.held(exclusive=False) as reads_too:
            assert reads and reads_too and not one.blocked and not other.blocked
        with other.held(exclusive=True) as alone:
            assert not alone and other.blocked
    with other.held(exclusive=True) as alone, one.held(exclusive=False) as reads:
        assert alone and not other.blocked
        assert not reads and one.blocked
    with one.held(exclusive=True) as alone:
        assert alone and not one.blocked


def test_a_guard_is_free_after_a_fault_inside(tmp_path: Path) -> None:
    one, other = (Guard(tmp_path / "guard", seconds=MOMENT) for _ in "12")
    with pytest.raises(KeyError), one.held(exclusive=True):
        raise KeyError
    with other.held(exclusive=True) as alone:
        assert alone


def test_the_file_of_a_lock_is_made_once_for_all_users_and_keeps_its_text(tmp_path: Path) -> None:
    """Other users of a folder that is shared lock it too, where their umask lets them."""
    old = os.umask(0)
    try:
        for name in ("lock", "other"):  # the first makes the folder
            with opened_lock(tmp_path / "a/b" / name) as file:
                file.write(b"holder")
                assert (tmp_path / "a/b" / name).read_bytes() == b"holder", "those who wait read it at once"
    finally:
        os.umask(old)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "a/b").iterdir()] == [0o666, 0o666]
    with opened_lock(tmp_path / "a/b/lock") as file:
        assert file.read() == b"holder"
        assert not os.get_inheritable(file.fileno())
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        opened_lock(tmp_path / "file/lock")
