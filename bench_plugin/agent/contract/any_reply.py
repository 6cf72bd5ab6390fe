"""What every reply of an adapter has."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Collection, Mapping, Tuple

from bench_plugin.agent.contract.records import Malformed, Record


@dataclass(frozen=True, eq=False, repr=False)
class Remarks(Record):
    """What every reply may say beside its own fields.

    shims: what the adapter changed in the tool to make it work, a sentence each.
    placement: which part was computed where.
    """

    shims: Tuple[str, ...] = ()
    placement: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class AnyReply(Record):
    """The base of all: a reply that promises no field, the files FILES and the arrays ARRAYS."""

    FILES: ClassVar[Tuple[str, ...]] = ()
    ARRAYS: ClassVar[Tuple[str, ...]] = ()

    def check(self, arrays: Collection[str], files: Collection[str], where: str) -> None:
        """Check the names of arrays and files. Raises Malformed, which names what is missing."""
        for kind, promised, have in (("file", self.FILES, files), ("array", self.ARRAYS, arrays)):
            for name in promised:
                if name not in have:
                    raise Malformed("%s: %s %r is missing; the reply has %s" % (where, kind, name, named(have)))


def named(names: Collection[str]) -> str:
    """Names for a message: the first few, in order."""
    shown = sorted(names)
    text = ", ".join(repr(name)[:60] for name in shown[:8]) or "none"
    return text if len(shown) <= 8 else "%s and %d more" % (text, len(shown) - 8)
