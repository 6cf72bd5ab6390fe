"""The command that runs firmware on the Cortex-M3 in Unicorn (unicorn_machine.py), with its UART on a descriptor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

SCRIPT = Path(__file__).with_name("unicorn_machine.py")
# Those of the MPS2 board, so that the same firmware runs in QEMU: origin and bytes.
FLASH, RAM = "0x0:0x400000", "0x20000000:0x400000"


def command(python: Path, firmware: Path) -> Sequence[str]:
    """The arguments that run firmware, an ELF file, by a toolchain's Python; ``{fd}`` is the UART's descriptor."""
    return [str(python), "-I", str(SCRIPT), "--fd", "{fd}", "--flash", FLASH, "--ram", RAM, str(firmware)]
