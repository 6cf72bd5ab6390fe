"""Modules of the kernel come after those that they need, which the modules themselves say, not a list of ours."""

from __future__ import annotations

import lzma

import pytest

from bench_plugin.domain.errors import EnvironmentMissing
from bench_plugin.reach.boards.linux.initramfs import Entry
from bench_plugin.reach.boards.linux.kernel_modules import is_module, with_needed

DRIVERS = "lib/modules/6.1.0-9-cloud-arm64/kernel/drivers"


def module(path: str, depends: str) -> Entry:
    """A module as Debian packages it, with a part of its section .modinfo."""
    data = b"\x7fELF...license=GPL\0depends=" + depends.encode() + b"\0intree=Y\0name=any\0"
    return Entry(f"{DRIVERS}/{path}", 0o644, lzma.compress(data) if path.endswith(".xz") else data)


def order(packaged: list[Entry], *wanted: str) -> list[str]:
    """The names in the order in which the board loads them."""
    found = {entry.path: entry.data for entry in with_needed(packaged, wanted)}
    lines = found.pop("modules/order").decode().split()
    assert lines == [f"/{path}" for path in found], "every file that is named is there, and no other"
    return [line.rpartition("/")[2].removesuffix(".ko") for line in lines]


@pytest.mark.parametrize(
    ("virtio", "ring", "expected"),
    [
        ("", "virtio", ["virtio", "virtio_ring", "virtio_net"]),
        ("virtio_ring", "", ["virtio_ring", "virtio", "virtio_net"]),  # since an update of Debian's kernel 6.1
    ],
)
def test_an_update_of_the_kernel_may_turn_the_order_round(virtio: str, ring: str, expected: list[str]) -> None:
    packaged = [
        module("net/virtio_net.ko", "virtio,virtio_ring"), module("virtio/virtio.ko", virtio),
        module("virtio/virtio_ring.ko", ring), module("net/other.ko", ""),
    ]  # fmt: skip
    assert order(packaged, "virtio_net") == expected


def test_what_a_module_needs_is_taken_though_nobody_listed_it_and_inflated() -> None:
    packaged = [module("char/virtio-rng.ko.xz", "bus_of_tomorrow"), module("bus/bus-of-tomorrow.ko.xz", "")]
    files = {entry.path: entry.data for entry in with_needed(packaged, ["virtio_rng"])}
    assert order(packaged, "virtio_rng") == ["bus-of-tomorrow", "virtio-rng"]
    assert files["modules/virtio-rng.ko"].startswith(b"\x7fELF"), "the board's insmod does not inflate"


def test_a_part_of_the_kernel_needs_no_module() -> None:
    assert order([module("net/virtio_net.ko", "")], "virtio_mmio", "virtio_net") == ["virtio_net"]


def test_a_needed_module_that_is_missing_is_named() -> None:
    with pytest.raises(EnvironmentMissing, match="no kernel module virtio_ring, which virtio_net needs"):
        list(with_needed([module("net/virtio_net.ko", "virtio_ring")], ["virtio_net"]))


def test_modules_are_told_from_other_files_of_the_packages() -> None:
    assert is_module(f"{DRIVERS}/net/a.ko") and is_module(f"usr/{DRIVERS}/net/a.ko.xz")
    assert not is_module("usr/lib/a.ko") and not is_module("lib/modules/6.1.0/modules.dep")
