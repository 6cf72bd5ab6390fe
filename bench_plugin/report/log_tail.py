"""The end of a cell's log, for pages: bounded, without secrets, and of the folder of logs alone."""

from __future__ import annotations

from pathlib import Path

from bench_plugin.domain.paths import LOGS
from bench_plugin.domain.texts.masking import masked, readable

TAIL = 4000  # bytes of a log


def log_tail(log: str, results: Path) -> str:
    """The last characters of a log, from the folder of logs that belongs to the results file; empty where it is gone.

    Files elsewhere are not opened, whatever a row says: rows of third parties must not bring files of this machine into
    a page that is published. Logs are what tools printed, so secrets are masked here.
    """
    if not log:
        return ""
    for folder in (results.parent / LOGS, results.parent.parent / LOGS):  # runs of the history share the second
        path = folder / Path(log).name
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - TAIL))
                return masked(readable(file.read().decode("utf-8", "replace")))
        except (OSError, ValueError):
            continue
    return ""
