"""Programs of the firmware's C sources for this machine, with sanitizers of addresses and undefined behaviour."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FIRMWARE = HERE.parents[2] / "bench_plugin" / "agent" / "c" / "firmware"
CHECKED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1", "-Wall", "-Wextra", "-Werror")


def compiled(folder: Path, main: str, sources: Sequence[str]) -> Path:
    """The program of a main file beside this one and files of the firmware. Skips where there is no C compiler."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("gcc not found; install gcc (Debian)")
    made = folder / main.removesuffix(".c")
    files = [str(HERE / main), *(str(FIRMWARE / name) for name in sources)]  # an absolute path stays what it is
    subprocess.run([gcc, "-std=gnu99", *CHECKED, f"-I{FIRMWARE}", *files, "-o", str(made)], check=True, timeout=120)
    return made
