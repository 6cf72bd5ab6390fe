"""Firmware for a microcontroller: what is written for its target beside the C sources of ``firmware/``."""

from __future__ import annotations

import os
from typing import List

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.c.zig import Firmware
from bench_plugin.agent.contract import Target

COMMON = ("startup.c", "counters.c", "uart_link.c", "uart_framing.c")
DRIVERS = {"cmsdk": "cmsdk_uart.c"}
STACK_BYTES = 16384  # of the program; arrays of models are static, so functions need little

SCRIPT = """/* The memory map of %(name)s, written by firmware_parts.py. Sizes are checked after the link. */
ENTRY(firmware_reset)
SECTIONS
{
    .text %(flash_origin)#x :
    {
        firmware_flash_begin = .;
        KEEP(*(.vectors))
        *(.text .text.*)
        . = ALIGN(8);
        *(.rodata .rodata.*)
        . = ALIGN(8);
    }
    firmware_data_stored = LOADADDR(.data);
    .data %(data_origin)#x : AT(ADDR(.text) + SIZEOF(.text))
    {
        firmware_data_begin = .;
        *(.data .data.*)
        . = ALIGN(8);
        firmware_data_end = .;
    }
    firmware_flash_end = LOADADDR(.data) + SIZEOF(.data);
    .bss (NOLOAD) : ALIGN(8)
    {
        firmware_bss_begin = .;
        *(.bss .bss.* COMMON)
        . = ALIGN(8);
        firmware_bss_end = .;
    }
    firmware_stack_bottom = %(ram_origin)#x;
    firmware_stack_top = %(data_origin)#x;
    /DISCARD/ : { *(.ARM.exidx .ARM.exidx.* .ARM.extab .ARM.extab.* .eh_frame) }
}
"""

BOARD = """/* The board of target %(name)s, written by firmware_parts.py. */
#include "board.h"

const uint32_t board_uart_base = %(uart_base)#xu;
const uint32_t board_systick_hz = %(systick_hz)du;
"""


def parts(target: Target, agent: str, folder: str) -> Firmware:
    """Write the linker script and the description of a target's board into ``folder``; ``agent`` has the C sources.

    Raises Unsupported for a target whose file does not say where its memories and its UART are.
    """
    missing = [name for name in ("flash_bytes", "ram_bytes", "uart_driver") if not getattr(target, name)]
    if missing:
        raise Unsupported("target %s has no %s, which firmware needs" % (target.name, ", ".join(missing)))
    own = os.path.join(agent, "firmware")
    said = {
        "name": target.name, "flash_origin": target.flash_origin, "ram_origin": target.ram_origin,
        "data_origin": target.ram_origin + STACK_BYTES, "uart_base": target.uart_base, "systick_hz": target.systick_hz,
    }  # fmt: skip
    driver = os.path.join(own, DRIVERS.get(target.uart_driver, ""))
    if target.uart_source:  # a C file of the user, whose text comes with the target
        driver = os.path.join(own, "uart_driver.c")
        _write(driver, target.uart_source)
    script, board = os.path.join(folder, "firmware.ld"), os.path.join(own, "board.c")
    _write(script, SCRIPT % said)
    _write(board, BOARD % said)
    files: List[str] = [os.path.join(own, name) for name in COMMON]
    return Firmware([*files, driver, board], script)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
