"""What a message says of a value that is not one of those that are valid: all of a few, the nearest of many."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bench_plugin.domain.errors import UsageError

FEW = 20  # so many values stand in a message; of more, the nearest
NEAREST = 5
ALIKE = 0.6  # how alike the nearest must be at least, from 0 to 1


def unknown(what: str, value: object, valid: Iterable[object], *, listed: str = "") -> UsageError:
    """The error for a value that is none of ``valid``; ``listed`` is the kind that ``bench list`` prints them as."""
    return UsageError(f"unknown {what} {str(value)!r}; {hint(value, valid, listed=listed)}")


def hint(value: object, valid: Iterable[object], *, listed: str = "") -> str:
    """``valid are: a, b``, or of many ``did you mean a or b? bench list cases prints all 2033``."""
    choices = [str(one) for one in valid]
    if len(choices) <= FEW or not listed:
        return f"valid are: {', '.join(choices)}" if choices else "none is available"
    near = nearest(str(value), choices)
    meant = f"did you mean {_either(near)}? " if near else ""
    return f"{meant}bench list {listed} prints all {len(choices)}"


def nearest(value: str, choices: Iterable[str]) -> list[str]:
    """At most five of the choices, the most alike first; capitals do not matter."""
    lower: dict[str, list[str]] = {}
    for choice in choices:
        lower.setdefault(choice.lower(), []).append(choice)
    found = difflib.get_close_matches(value.lower(), lower, NEAREST, ALIKE)
    return [choice for one in found for choice in lower[one]][:NEAREST]


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
