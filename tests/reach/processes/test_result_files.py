"""Files of an answer are taken from the agent's own folder, whatever path the answer names."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from bench_plugin.reach.processes.result_files import NotTaken, TooLarge, take


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an agent with a file in it, beside a file that is not its own."""
    folder = tmp_path / "agent"
    (folder / "call").mkdir(parents=True)
    (folder / "call" / "model.onnx").write_bytes(b"model")
    (tmp_path / "outside").write_bytes(b"mine")
    return folder


def taken(path: Path | str, folder: Path, most: int = 0) -> Path:
    """The file that a path in an answer leads to."""
    return take({"external/weights.bin": str(path)}, folder, folder.parent / "results", most_bytes=most)[
        "external/weights.bin"
    ]


def test_a_file_is_moved(folder: Path) -> None:
    path = folder / "call" / "model.onnx"
    inode = path.stat().st_ino
    target = taken(path, folder)
    assert target.stat().st_ino == inode and target.name.endswith("-weights.bin")
    assert not path.exists()


@pytest.mark.parametrize(
    "path", ["outside", "agent/../outside", "agent/call/../../outside", "agent", "agent-2/x", "/etc/hostname", "x/y"]
)
def test_a_path_outside_is_refused(folder: Path, path: str) -> None:
    with pytest.raises(NotTaken, match=re.escape("is outside of the agent's folder")):
        taken(folder.parent / path if path[0] != "x" else path, folder)
    assert (folder.parent / "outside").read_bytes() == b"mine"


def test_no_link_is_followed(folder: Path) -> None:
    (folder / "file").symlink_to(folder.parent / "outside")
    (folder / "way").symlink_to(folder.parent)
    with pytest.raises(NotTaken, match="is a link or a device, not a file"):
        taken(folder / "file", folder)
    with pytest.raises(NotTaken, match="leads through a link or a file"):
        taken(folder / "way" / "outside", folder)
    assert (folder.parent / "outside").read_bytes() == b"mine"


def test_a_fifo_and_a_folder_are_no_files_and_stop_nobody(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name in ("pipe", "call"):
        with pytest.raises(NotTaken, match="not a file"):
            taken(folder / name, folder)
    with pytest.raises(NotTaken, match="cannot be found: No such file"):
        taken(folder / "absent", folder)


def test_a_file_with_another_name_elsewhere_is_copied(folder: Path) -> None:
    outside = folder.parent / "outside"
    os.link(outside, folder / "link")
    target = taken(folder / "link", folder)
    assert target.read_bytes() == outside.read_bytes() == b"mine"
    assert target.stat().st_ino != outside.stat().st_ino


def test_files_that_are_too_large_together_stay_where_they_are(folder: Path) -> None:
    os.truncate(folder / "call" / "model.onnx", 5 << 30)  # a hole, which takes no space
    with pytest.raises(TooLarge, match="the answer's files have 5120 MiB, the limit is 1024 MiB"):
        taken(folder / "call" / "model.onnx", folder, 1 << 30)
    assert (folder / "call" / "model.onnx").exists()


def test_one_refused_path_leaves_the_others_where_they_are(folder: Path) -> None:
    paths = {"a": str(folder / "call" / "model.onnx"), "b": "/etc/hostname"}
    with pytest.raises(NotTaken):
        take(paths, folder, folder.parent / "results", most_bytes=0)
    assert (folder / "call" / "model.onnx").exists()
