"""The memory map of a microcontroller in the file of its target: what is refused, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.hardware.target_file import UART_DRIVERS, read_target

TARGET = """name = "mine"
bare_metal = true
flash_origin = 0x08000000
flash_bytes = 1048576
ram_origin = 0x20000000
ram_bytes = 131072
uart_driver = "cmsdk"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ram_bytes = 131072", "", "ram_bytes: it must be said too"),
        ("flash_bytes = 1048576", "", "flash_bytes: it must be said too"),
        ("0x20000000", "0x08080000", ":5: ram_origin: flash and RAM lie on each other"),
        ("0x20000000", "0xffff0000", ":6: ram_bytes: 131072 bytes from 0xffff0000 reach beyond"),
        ("131072", "-1", ":6: ram_bytes"),
        ('"cmsdk"', '"uart7.c"', ":7: uart_driver: 'uart7.c' cannot be read"),
    ],
)
def test_a_wrong_memory_map_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TARGET.replace(old, new), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_target(path)


def test_a_driver_of_the_users_own_is_read_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TARGET.replace("cmsdk", "uart7.c"), encoding="utf-8")
    (tmp_path / "uart7.c").write_text("int uart_get(void);", encoding="utf-8")
    assert read_target(path)["uart_source"] == "int uart_get(void);"


def test_the_drivers_are_those_of_the_firmware() -> None:
    from bench_plugin.agent.c.firmware_parts import DRIVERS

    assert tuple(DRIVERS) == UART_DRIVERS
