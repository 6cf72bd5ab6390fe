"""The folder of a Linux board where files and environments that hosts sent stay, each named by its content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench_plugin.reach.boards.linux.link import Link

ROOM = Path(__file__).with_name("room.py")
# Prints which of the names are there, which are used now. A disk of an emulated board may be read-only.
HAS = """
cd "$1" || exit 1; shift
for name; do if [ -e "$name" ]; then touch -c "$name" 2>/dev/null; echo "$name"; fi; done
"""
ROOM_SECONDS = 120.0  # of a card with 100,000 files, which all have their sizes added up
MAKE_ROOM = 'python="$1"; shift; exec "$python" -I - "$@"'


class BoardCache:
    """The folder ``folder`` of the board that ``link`` leads to, with at most ``most_bytes`` in it."""

    def __init__(self, link: Link, folder: str, python: str, most_bytes: int) -> None:
        self._link = link
        self._folder = folder
        self._python = python
        self._most = most_bytes

    def place(self, name: str) -> str:
        """The path on the board."""
        return f"{self._folder}/{name}"

    def has(self, names: Sequence[str]) -> set[str]:
        """Those of the names that are there; they stay for the next minute. Raises AgentFailure as Link.run does."""
        return set(self._link.run(HAS, self._folder, *names).splitlines())

    def make_room(self, files: Iterable[Path], keep: Sequence[str]) -> None:
        """Make room for files or tars, but not of the names ``keep``.

        Raises AgentFailure as Link.run does, and ``harness`` where there is not enough.
        """
        size = sum(path.stat().st_size for path in files)
        words = ["--cache", self._folder, "--bytes", str(size), "--most", str(self._most), "--keep", *keep]
        with ROOM.open("rb") as script:
            self._link.run(MAKE_ROOM, self._python, *words, given=script, seconds=ROOM_SECONDS)

    def put(self, path: Path, name: str) -> None:
        """Send a file. Raises AgentFailure as Link.run does."""
        self._link.put(path, self.place(name))

    def unpack(self, path: Path, name: str) -> None:
        """Send a tar, which becomes a folder. Raises AgentFailure as Link.run does."""
        self._link.unpack(path, self.place(name))
