"""The outcome of a cell around which something was raised that nobody foresaw: every cell has a row."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.outcome import Outcome, Stage, Status, Symptom

DETAIL_CHARACTERS = 64 * 1024


def unforeseen(error: Exception, versions: Mapping[str, str]) -> Outcome:
    """The outcome with symptom ``harness``, the error as its reason and the traceback as its detail.

    Its stage is ``compare``: the stages before it are calls of agents, whose failures have a stage of their own.
    """
    reason = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
    detail = "".join(traceback.format_exception(error))
    return Outcome(
        Status.ERROR, Stage.COMPARE, Symptom.HARNESS, _written(f"the benchmark itself failed: {reason}"),
        _written(detail[-DETAIL_CHARACTERS:]), versions=versions,
    )  # fmt: skip


def _written(text: str) -> str:
    """A text that can be written as UTF-8, whatever the error quoted."""
    return text.encode("utf-8", "replace").decode("utf-8")
