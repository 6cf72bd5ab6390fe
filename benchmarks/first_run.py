"""What README's first command costs on an empty machine: seconds, disk, memory.

``python benchmarks/first_run.py [PYTEST ARGUMENTS]`` clones this checkout's last commit, runs the command there with an
empty home, with further arguments for its pytest, and prints the wall-clock seconds, the bytes below that home and
the fall of the machine's available memory. Nothing else should run meanwhile.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GIB = 2**30


def main() -> None:
    """Print the figures; ends with the command's own exit code."""
    found = re.search(r"^python3 -m pip .*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    if found is None:
        sys.exit("README.md has no command that begins with python3 -m pip")
    command = f"{found[0]} {shlex.join(sys.argv[1:])}"
    with tempfile.TemporaryDirectory() as name:
        clone, home = Path(name) / "clone", Path(name) / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        kept = {key: value for key, value in os.environ.items() if key not in {"BENCH_CACHE", "XDG_CACHE_HOME"}}
        ended, least = threading.Event(), [available()]
        before = least[0]
        watch = threading.Thread(target=_watch, args=(ended, least))
        watch.start()
        began = time.monotonic()
        done = subprocess.run(["bash", "-c", command], cwd=clone, env={**kept, "HOME": str(home)}, check=False)
        seconds = time.monotonic() - began
        ended.set()
        watch.join()
        print(
            f"{seconds:.0f} s, {disk(home) / GIB:.1f} GiB below the home, {(before - least[0]) / GIB:.1f} GiB of memory"
        )
    sys.exit(done.returncode)


def available() -> int:
    """What the kernel calls available memory (proc(5), MemAvailable), in bytes."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def disk(folder: Path) -> int:
    """Bytes that the files below a folder occupy; a file with several names counts once."""
    files = (Path(base, name).lstat() for base, _, names in os.walk(folder) for name in names)
    return sum({file.st_ino: file.st_blocks * 512 for file in files}.values())


def _watch(ended: threading.Event, least: list[int]) -> None:
    """Keep the least available memory, in bytes, until the run has ended."""
    while not ended.wait(0.25):
        least[0] = min(least[0], available())


if __name__ == "__main__":
    main()
