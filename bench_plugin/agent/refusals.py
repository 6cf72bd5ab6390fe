"""What a tool says when it does not implement something: one rule for all adapters.

An adapter's ``unsupported`` adds what only its own tool says. A crash, an internal assertion and Python's own errors
(a TypeError, a KeyError) are no refusals: the tool did not know that it lacks something.
"""

from __future__ import annotations

import re
from typing import Dict, Pattern

from bench_plugin.agent.adapter import NotProvided, symptom_of
from bench_plugin.agent.causes import chain, environment_of, text_of

CHARACTERS = 4096  # of a message; what comes behind them is a log
# Python's own, whose texts may speak of "unsupported operand types", and what speaks of this machine.
NO_REFUSALS = (
    NotProvided, TypeError, AttributeError, LookupError, NameError, AssertionError, OSError, ImportError, MemoryError,
)  # fmt: skip

PATTERNS: Dict[str, Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "operator set": r"is not a registered function/op|No Op registered for|Could not find an implementation for"
        # ONNX Runtime's words for the same where it has another backend beside the CPU
        r"|Provider type for \w+ node with name '[^']*' is not set",
        "not implemented": r"(?i)\b(not|isn't) (yet |currently )?implemented\b|\bunimplemented\b|\bNOT_IMPLEMENTED\b",
        "export": r"No ONNX function found for|(?i:ONNX export of .{1,200} is not supported)",
        "conversion": r"(?i)\bno (translator|translation|converter|conversion (rule|function|method)|lowering)\b"
        r"|failed to legalize operation|neither a custom op nor a flex op",
        "type": r"(?i)\bunhandled (onnx )?(tensorproto|torch type|data type|dtype)",
        "unsupported": r"\b[Uu]nsupported\b(?! operand| format string| locale)|\bOp Not Support\b",
        "not supported": r"(?i)\b(is|are|was|were) (not|only) (yet |currently )?supported\b"
        r"|\b(does not|doesn't|do not) (yet |currently )?support\b|\bnot (yet|currently) supported\b"
        r"|\bonly supports?\b",
    }.items()
}


def refusal_in(text: str) -> str:
    """The name of the row of PATTERNS that a message says; empty where it is none."""
    return next((name for name, pattern in PATTERNS.items() if pattern.search(text[:CHARACTERS])), "")


def refuses(error: BaseException) -> bool:
    """Whether an exception of an adapter, or one that it comes from, says that the tool does not implement something.

    What speaks of the environment is none, and neither is an exception that has a symptom of its own.
    """
    if symptom_of(error) != "exception":
        return False
    found = list(chain(error))
    if any(environment_of(text_of(one)) for one in found):
        return False
    return any(isinstance(one, NotImplementedError) or _says(one) for one in found)


def _says(error: BaseException) -> bool:
    return not isinstance(error, NO_REFUSALS) and bool(refusal_in(text_of(error)))
