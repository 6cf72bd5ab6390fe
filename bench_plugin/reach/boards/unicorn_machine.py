"""A Cortex-M3 with a UART in Unicorn, as a program: ``python unicorn_machine.py --fd N --flash ... --ram ... FILE``.

It runs in toolchain ``unicorn`` with the standard library, unicorn and pyelftools. What the UART sends and receives
goes over an inherited descriptor. Instructions are counted one by one, and SysTick counts 25 million times in a second
in which a thousand million instructions run, as under ``qemu-system-arm -icount shift=0``. An instruction of an IT
block whose condition does not hold is not executed, and not counted. There are no interrupts. A fault ends the machine
with status 3 and a message on standard error that names the program counter and the address.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import mmap
import os
import platform
import struct
import sys
from typing import Any

from elftools.elf.elffile import ELFFile
from unicorn import UC_ARCH_ARM, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, UcError, arm_const, unicorn_const
from unicorn.unicorn_py3 import unicorn as binding

UART, UART_SIZE = 0x40004000, 0x1000
SYSTEM, SYSTEM_SIZE = 0xE000E000, 0x1000
DATA, STATE = 0x00, 0x04
SEND_FULL, RECEIVE_FULL = 1, 2
SYSTICK_CONTROL, SYSTICK_RELOAD, SYSTICK_VALUE = 0x10, 0x14, 0x18
PASSED_ZERO = 1 << 16
INSTRUCTIONS = 40  # for one tick
PAGE = 0x1000
FAULT = 3
# Machine code of "add 1 to what the fourth argument points to, return": a hook for each instruction, called by Unicorn
# itself. A hook in Python takes ten times as long as the instructions.
COUNT = {"x86_64": "48ff01c3", "aarch64": "640040f984040091640000f9c0035fd6"}
ACCESS = {
    unicorn_const.UC_MEM_READ_UNMAPPED: "read of no memory",
    unicorn_const.UC_MEM_WRITE_UNMAPPED: "write to no memory",
    unicorn_const.UC_MEM_FETCH_UNMAPPED: "fetch of an instruction from no memory",
    unicorn_const.UC_MEM_WRITE_PROT: "write to flash",
    unicorn_const.UC_MEM_FETCH_PROT: "fetch of an instruction from RAM",
}


class Machine:
    """The processor with its memories (origin and size in bytes each), its UART on ``line``, and SysTick."""

    def __init__(self, path: str, line: int, flash: tuple[int, int], ram: tuple[int, int]) -> None:
        self.line = line
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.asked = 0  # how often in turn the state of the UART was read
        self.problem = ""
        self.ended = False
        self.count = ctypes.c_uint64(0)
        self.began = 0
        self.control = 0
        self.reload = 0xFFFFFF
        self.passed = False
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M3)
        self.uc.mem_map(flash[0], _pages(flash[1]), unicorn_const.UC_PROT_READ | unicorn_const.UC_PROT_EXEC)
        self.uc.mem_map(ram[0], _pages(ram[1]), unicorn_const.UC_PROT_READ | unicorn_const.UC_PROT_WRITE)
        self._load(path)
        self.uc.mmio_map(UART, UART_SIZE, self._read_uart, None, self._write_uart, None)
        self.uc.mmio_map(SYSTEM, SYSTEM_SIZE, self._read_system, None, self._write_system, None)
        self.uc.hook_add(unicorn_const.UC_HOOK_MEM_UNMAPPED | unicorn_const.UC_HOOK_MEM_PROT, self._bad_access)
        self.uc.hook_add(unicorn_const.UC_HOOK_INTR, self._exception)
        self._count_instructions()
        stack, self.start = struct.unpack("<II", self.uc.mem_read(flash[0], 8))
        self.uc.reg_write(arm_const.UC_ARM_REG_SP, stack)

    def run(self) -> str:
        """Run until the line ends; returns an empty text, or what the fault was."""
        try:
            self.uc.emu_start(self.start | 1, 0xFFFFFFFF)
        except UcError as error:
            if not self.problem and not self.ended:
                self.problem = self._fault("undefined instruction" if "instruction" in str(error) else str(error))
        return self.problem

    def _load(self, path: str) -> None:
        with open(path, "rb") as file:
            for segment in ELFFile(file).iter_segments():
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                    self.uc.mem_write(segment["p_paddr"], segment.data())

    def _count_instructions(self) -> None:
        code = bytes.fromhex(COUNT.get(platform.machine(), ""))
        try:
            memory = mmap.mmap(-1, PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        except OSError:  # a system that forbids code in memory that can be written: the slow way counts the same
            code = b""
        if not code:
            self.uc.hook_add(unicorn_const.UC_HOOK_CODE, self._count_one)
            return
        memory.write(code)
        self._code = memory
        place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        hook = ctypes.c_size_t()
        status = binding.uclib.uc_hook_add(
            self.uc._uch, ctypes.byref(hook), ctypes.c_int(unicorn_const.UC_HOOK_CODE), ctypes.c_void_p(place),
            ctypes.c_void_p(ctypes.addressof(self.count)), ctypes.c_uint64(1), ctypes.c_uint64(0),
        )  # fmt: skip
        if status:
            raise UcError(status)

    def _count_one(self, uc: Any, address: int, size: int, data: Any) -> None:
        self.count.value += 1

    # Exceptions of callbacks do not reach the caller of emu_start, so a callback says what happened and stops it.

    def _read_uart(self, uc: Any, offset: int, size: int, data: Any) -> int:
        if offset == STATE:
            # Asked once before a byte is sent, and in a loop until one comes: wait here instead of in the loop.
            self.asked += 1
            if self.asked > 1 and not self.incoming and not self.ended:
                self._send()
                self._receive()
            return RECEIVE_FULL if self.incoming else 0
        if offset == DATA and self.incoming:
            self.asked = 0
            return self.incoming.pop(0)
        return 0

    def _write_uart(self, uc: Any, offset: int, size: int, value: int, data: Any) -> None:
        if offset == DATA:
            self.asked = 0
            self.outgoing.append(value & 255)
            if len(self.outgoing) >= PAGE:
                self._send()

    def _send(self) -> None:
        try:
            while self.outgoing:
                del self.outgoing[: os.write(self.line, self.outgoing)]
        except OSError:
            self._stop()

    def _receive(self) -> None:
        with contextlib.suppress(OSError):
            self.incoming += os.read(self.line, 1 << 16)
        if not self.incoming:
            self._stop()

    def _stop(self) -> None:
        self.ended = True
        self.uc.emu_stop()

    def _read_system(self, uc: Any, offset: int, size: int, data: Any) -> int:
        if offset == SYSTICK_CONTROL:
            self._ticks()
            said = self.control | (PASSED_ZERO if self.passed else 0)
            self.passed = False
            return said
        if offset == SYSTICK_RELOAD:
            return self.reload
        if offset == SYSTICK_VALUE:
            ticks = self._ticks()
            return self.reload - (ticks - 1) % (self.reload + 1) if ticks else 0
        return 0

    def _write_system(self, uc: Any, offset: int, size: int, value: int, data: Any) -> None:
        if offset == SYSTICK_CONTROL:
            self.control = value & 7
        elif offset == SYSTICK_RELOAD:
            self.reload = value & 0xFFFFFF
        elif offset == SYSTICK_VALUE:
            self.began, self.passed = self.count.value, False

    def _ticks(self) -> int:
        """Ticks since the value was written; it passes zero once in each round."""
        ticks = (self.count.value - self.began) // INSTRUCTIONS
        if ticks > self.reload + 1:
            self.passed = True
        return ticks

    def _bad_access(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        self.problem = self._fault(ACCESS.get(access, "access that is not allowed"), address)
        return False

    def _exception(self, uc: Any, number: int, data: Any) -> None:
        self.problem = self.problem or self._fault(f"exception {number}, of which there is no handler")
        uc.emu_stop()

    def _fault(self, what: str, address: int | None = None) -> str:
        pc = self.uc.reg_read(arm_const.UC_ARM_REG_PC)
        used = "" if address is None else f", address {address:#010x}"
        return f"hard fault at PC {pc:#010x}{used}: {what}"


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _memory(text: str) -> tuple[int, int]:
    origin, _, size = text.partition(":")
    return int(origin, 0), int(size, 0)


def main() -> int:
    """Run the machine; the status is 0 when the line ended, 3 after a fault."""
    parser = argparse.ArgumentParser(description="A Cortex-M3 in Unicorn.")
    parser.add_argument("--fd", type=int, required=True, help="the descriptor of the UART's other end")
    parser.add_argument("--flash", type=_memory, required=True, help="origin:bytes")
    parser.add_argument("--ram", type=_memory, required=True, help="origin:bytes")
    parser.add_argument("program", help="an ELF file")
    said = parser.parse_args()
    problem = Machine(said.program, said.fd, said.flash, said.ram).run()
    if problem:
        print(problem, file=sys.stderr, flush=True)
    return FAULT if problem else 0


if __name__ == "__main__":
    sys.exit(main())
