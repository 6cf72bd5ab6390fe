"""The image of the emulated Linux board, made from small packages by programs that stand in for Debian's."""

from __future__ import annotations

import io
import json
import lzma
import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench_plugin.cli.shared.board import image as board_image
from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.reach.boards.linux import image, initramfs

PYTHON = "usr/bin/python3.11"
FILES: Mapping[str, tuple[bytes, int]] = {
    "boot/vmlinuz-6.1.0-1-cloud-arm64": (b"kernel", 0o644),
    "bin/busybox": (b"busybox", 0o755),
    "bin/dash": (b"dash", 0o755),
    PYTHON: (b"python", 0o755),
    "usr/lib/python3.11/json/__init__.py": (b"dumps = repr\n", 0o644),
    "usr/lib/python3.11/test/test_json.py": (b"left out\n", 0o644),
    "usr/share/doc/dash/copyright": (b"left out\n", 0o644),
    "lib/modules/6.1.0-1/kernel/drivers/net/virtio_net.ko": (b"net", 0o644),
    "lib/modules/6.1.0-1/kernel/drivers/block/virtio_blk.ko.xz": (lzma.compress(b"block"), 0o644),
    "lib/modules/6.1.0-1/kernel/fs/xfs/xfs.ko": (b"left out", 0o644),
}
TARGETS = "Debian|http://mirror.example/debian/|trixie|main\nOther|http://other.example/|trixie|main\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs before all others: apt's sources, and an mmdebstrap that gives the packages above."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen not found; Debian: package openssh-client")
    folder = tmp_path / "programs"
    folder.mkdir()
    with tarfile.open(tmp_path / "packages.tar", "w") as archive:
        for name, (data, mode) in FILES.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size, member.mode = len(data), mode
            archive.addfile(member, io.BytesIO(data))
        shell = tarfile.TarInfo("./bin/sh")
        shell.type, shell.linkname = tarfile.SYMTYPE, "dash"
        archive.addfile(shell)
    tmp_path.joinpath("targets").write_text(TARGETS)
    program(folder, "apt-get", f"cat {tmp_path}/targets")
    program(folder, "newuidmap", "true")
    # Its last arguments are the suite, the file and the sources; which of them are lines of apt begins with "deb".
    program(
        folder, "mmdebstrap",
        f'printf "%s\\n" "$@" >> {tmp_path}/asked; '
        f'for word; do case $word in *.tar) cp {tmp_path}/packages.tar $word;; '
        "esac; done",
    )  # fmt: skip
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def program(folder: Path, name: str, script: str) -> None:
    """A program of the shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def unpacked(system: Path) -> dict[str, tuple[int, bytes]]:
    """The entries of a cpio archive (newc): mode and content by path."""
    data, found, at = system.read_bytes(), {}, 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * index : at + 14 + 8 * index], 16) for index in range(13)]
        name = data[at + 110 : at + 110 + fields[11] - 1].decode()
        begins = at + (110 + fields[11] + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        assert name not in found
        assert not name.rpartition("/")[0] or name.rpartition("/")[0] in found, f"{name} comes before its folder"
        found[name] = (fields[1], data[begins : begins + fields[6]])
        at = begins + (fields[6] + 3) // 4 * 4


def test_the_image_has_what_the_board_needs_and_nothing_else(programs: Path, tmp_path: Path) -> None:
    made = image.make(lambda text: None, root=tmp_path / "cache")
    assert made.made
    assert made.python == "3.11"
    assert made.kernel.read_bytes() == b"kernel"
    system = unpacked(made.system)
    assert system["modules/virtio_net.ko"][1] == b"net"
    assert system["modules/virtio_blk.ko"][1] == b"block", "the board's insmod does not inflate"
    assert system["modules/order"][1] == b"/modules/virtio_net.ko\n/modules/virtio_blk.ko\n"
    assert b"< /modules/order" in system["sbin/setup"][1]
    assert system["usr/bin/python3"] == (stat.S_IFLNK | 0o777, b"python3.11")
    assert system["sbin/insmod"] == (stat.S_IFLNK | 0o777, b"/bin/busybox")
    assert system["root/.ssh/authorized_keys"] == (stat.S_IFREG | 0o600, made.folder.joinpath("key.pub").read_bytes())
    assert system["etc/ssh/host_key"][0] == stat.S_IFREG | 0o600
    assert system[PYTHON] == (stat.S_IFREG | 0o755, b"python")
    assert image.READY.encode() in system["sbin/setup"][1]
    assert not [name for name in system if "xfs" in name or "usr/share" in name or "/test/" in name]


def test_keys_are_the_images_own_and_no_others_read_them(programs: Path, tmp_path: Path) -> None:
    first = image.make(lambda text: None, root=tmp_path / "one")
    second = image.make(lambda text: None, root=tmp_path / "two")
    assert first.key.read_text() != second.key.read_text()
    assert stat.S_IMODE(first.key.stat().st_mode) == 0o600
    assert not first.folder.joinpath("host_key").exists()
    name, *public = first.known_hosts.read_text().split()
    assert name == image.NAME
    assert public == first.folder.joinpath("host_key.pub").read_text().split()


def test_it_is_made_once_from_the_machines_own_sources(programs: Path, tmp_path: Path) -> None:
    said: list[str] = []
    first = image.make(said.append, root=tmp_path / "cache")
    asked = tmp_path.joinpath("asked").read_text().splitlines()
    assert "deb http://mirror.example/debian/ trixie main" in asked
    assert "http://other.example/" not in " ".join(asked), "only Debian's own packages"
    assert "trixie" in asked
    assert image.make(said.append, root=tmp_path / "cache") == first
    assert tmp_path.joinpath("asked").read_text().splitlines() == asked
    assert said == ["unpacking Debian trixie for arm64", "making the file system"]


def test_another_mirror(programs: Path, tmp_path: Path) -> None:
    line = "deb [trusted=yes] http://near.example/debian sid main"
    image.make(lambda text: None, mirror=line, root=tmp_path)
    asked = tmp_path.joinpath("asked").read_text().splitlines()
    assert line in asked
    assert "sid" in asked
    with pytest.raises(EnvironmentMissing, match="'http://near.example' is not a line of apt's sources; give --mirror"):
        image.make(lambda text: None, mirror="http://near.example", root=tmp_path / "other")


@pytest.mark.parametrize(
    ("name", "script", "message"),
    [
        ("mmdebstrap", "echo I: trying >&2; echo E: no such suite >&2; exit 25", "mmdebstrap failed: E: no such suite"),
        ("apt-get", "true", "apt knows no packages of Debian; run apt-get update, or give --mirror"),
    ],
)
def test_what_goes_wrong_is_said_and_leaves_nothing(
    programs: Path, tmp_path: Path, name: str, script: str, message: str
) -> None:
    program(programs, name, script)
    with pytest.raises(EnvironmentMissing, match=message):
        image.make(lambda text: None, root=tmp_path / "cache")
    assert list(tmp_path.joinpath("cache", "boards").iterdir()) == []


def test_a_missing_tool_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentMissing, match="mmdebstrap not found; Debian: package mmdebstrap"):
        image.make(lambda text: None, root=tmp_path)


def test_the_command_knows_its_images(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import argparse

    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    parser = argparse.ArgumentParser()
    board_image.add_arguments(parser)
    assert board_image.run(parser.parse_args(["qemu-aarch64-linux"])) == 0
    assert image.image().made
    with pytest.raises(UsageError, match="there is no image 'qemu-arm'; valid are: qemu-aarch64-linux"):
        board_image.run(parser.parse_args(["qemu-arm"]))


def test_the_kernels_own_format(tmp_path: Path) -> None:
    cpio = shutil.which("cpio") or shutil.which("busybox")
    if cpio is None:
        pytest.skip("cpio not found; Debian: package cpio")
    entries = [initramfs.text("etc/deep/name", "odd"), initramfs.link("etc/link", "deep/name"), initramfs.folder("tmp")]
    with tmp_path.joinpath("one.cpio").open("wb") as file:
        initramfs.write(file, entries)
    command = [cpio, *(["cpio"] if cpio.endswith("busybox") else []), "-i", "-d"]
    with tmp_path.joinpath("one.cpio").open("rb") as file:
        subprocess.run(command, stdin=file, cwd=tmp_path, check=True, capture_output=True)
    assert tmp_path.joinpath("etc", "link").read_text() == "odd"
    assert json.dumps(sorted(path.name for path in tmp_path.iterdir())) == '["etc", "one.cpio", "tmp"]'
