"""The replies of adapters, and the errors with a symptom of their own. The calls are those of contract/."""

from __future__ import annotations

from typing import Dict, List, Optional

from bench_plugin.agent.wire import Array

OPERATOR = "bench_operator"  # an exception's attribute


class Unsupported(Exception):
    """The tool itself says that it does not implement this."""


class InvalidModel(Exception):
    """The model of a call is not valid."""


class VersionSkew(Exception):
    """The tool is older than the opset or IR version of the model."""


class NotProvided(Exception):
    """Something that the adapter needs is not on this machine, such as a target's compiler."""


class Reply:
    """The result of an operation: metadata, blobs [...] by name, and ``files``, paths below the call's folder."""

    def __init__(
        self,
        meta: Optional[Dict[str, object]] = None,
        arrays: Optional[Dict[str, Array]] = None,
        files: Optional[Dict[str, str]] = None,
    ) -> None:
        self.meta: Dict[str, object] = meta or {}
        self.arrays: Dict[str, Array] = arrays or {}
        self.files: Dict[str, str] = files or {}


def symptom_of(error: BaseException) -> str:
    """The symptom of an adapter's exception: its attribute ``symptom``, or one that follows from its type."""
    own = getattr(error, "symptom", "")  # a signal ended the tool's own process
    if own in ("timeout", "crash"):
        return str(own)
    if isinstance(error, Unsupported):
        return "unsupported"
    if isinstance(error, InvalidModel):
        return "invalid-model"
    if isinstance(error, VersionSkew):
        return "version-skew"
    return "out-of-memory" if isinstance(error, MemoryError) else "exception"


def converting(error: BaseException, operator: str) -> None:
    """Say which operator of the model the tool was converting when it raised this; the message gets it in brackets."""
    setattr(error, OPERATOR, operator)


def converted_operator(error: BaseException) -> str:
    """The operator that ``converting`` named; empty where nothing is known."""
    return str(getattr(error, OPERATOR, ""))


def type_names(error: BaseException) -> List[str]:
    """The names of the exception's classes, most derived first."""
    return [kind.__module__ + "." + kind.__qualname__ for kind in type(error).__mro__ if kind is not object]
