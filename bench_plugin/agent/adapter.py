"""What adapters give back, and the errors that carry a symptom of their own; contract/ is what they are given."""

from __future__ import annotations

from typing import Dict, List, Optional

from bench_plugin.agent.wire import Array

Json = Dict[str, object]


class Unsupported(Exception):
    """The tool itself says that it does not implement this."""


class InvalidModel(Exception):
    """The given model is not a valid one."""


class VersionSkew(Exception):
    """The tool is older than the model's opset or IR."""


class NotProvided(Exception):
    """Something that the adapter needs is not on this machine, such as a target's compiler: not the tool's fault."""


class Reply:
    """What an operation returns; ``files`` maps names to paths below the call's folder."""

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
    """The symptom that an exception of an adapter stands for; its own one where it has the attribute ``symptom``."""
    own = getattr(error, "symptom", "")  # a tool's own process that was ended from outside
    if own in ("timeout", "crash"):
        return str(own)
    if isinstance(error, Unsupported):
        return "unsupported"
    if isinstance(error, InvalidModel):
        return "invalid-model"
    if isinstance(error, VersionSkew):
        return "version-skew"
    return "out-of-memory" if isinstance(error, MemoryError) else "exception"


def type_names(error: BaseException) -> List[str]:
    """Names of the exception's classes, most derived first."""
    return [kind.__module__ + "." + kind.__qualname__ for kind in type(error).__mro__ if kind is not object]
