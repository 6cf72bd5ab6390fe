"""What is said of an operator case that is outside of the opsets and IR that a tool takes: in rows and on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.domain.outcome import Status
from bench_plugin.domain.texts.messages import normalised

TAKES = " takes "
FAILED = "it failed so: "
AS_IT_IS = f"; as it is {FAILED}"
ALIKE = " it fails in the same words, so that its version is not the cause: "


def outside(asked: str, tool: str, takes: str) -> str:
    """What a case is outside of: ``asked`` is its opset, perhaps with its IR, and ``takes`` the range of the tool.

    >>> outside("opset 28, IR 14", "tvm", "opset 7 to 23")
    'opset 28, IR 14; tvm takes opset 7 to 23'
    """
    return f"{asked}; {tool}{TAKES}{takes}"


def beside_converted(failed: str, converted: Mapping[str, Any]) -> str:
    """How a case that is newer than its backend ``failed``, and whether the version is the cause.

    ``converted`` is the verdict on its form at an opset that the backend takes, as the row has it; its status is empty
    where there is no such form.
    """
    status, reason = converted["status"], converted["reason"]
    if not status:
        return f"{reason}; {FAILED}{failed}"
    at = f"at opset {converted['opset']}, IR {converted['ir']}"
    if status == Status.SUPPORTED:
        return f"{at} it is supported{AS_IT_IS}{failed}"
    alike = reason == failed if status == Status.MISMATCH else normalised(reason) == normalised(failed)
    return f"{at}{ALIKE}{failed}" if alike else f"{at} it ends otherwise ({status}){AS_IT_IS}{failed}"


def taken(reason: str) -> str:
    """What the reason of such a case says that the tool takes; empty for any other reason."""
    said = reason.partition("; ")[2].partition("; ")[0]
    return said if f"{TAKES}opset " in said else ""


def shortened(reason: str) -> str:
    """The reason without what the tool takes, and without how it refuses a version that it does not take.

    What it takes is the same for all cases of a page. How the case failed stays where its version is not the cause, and
    where nothing else is known.
    """
    if not taken(reason):
        return reason
    asked, _, rest = reason.partition("; ")
    said = rest.partition("; ")[2]
    if ALIKE in said:
        said = said.replace(ALIKE, ", too: ", 1)
    else:
        said = said.partition(AS_IT_IS)[0].partition(f"; {FAILED}")[0]
    return "; ".join(part for part in (asked, said) if part)
