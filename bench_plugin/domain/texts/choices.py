"""Messages for a value that is not valid: they list all valid values if these are few, else the nearest ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bench_plugin.domain.errors import UsageError

FEW = 20  # the most values that a message lists; of more it names the nearest
NEAREST = 5
ALIKE = 0.6  # the least similarity of the nearest, a share of 1 (difflib)


def unknown(what: str, value: object, valid: Iterable[object], *, listed: str = "") -> UsageError:
    """The error for a value that is not in ``valid``; ``listed`` is the kind under which ``bench list`` prints them."""
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
    """At most five of the choices, the most similar first, without regard to capitals.

    Those of the same letters come before all others, because letters that changed places are the usual slip.

    >>> nearest("modle", ["mode", "model"])
    ['model', 'mode']
    """
    lower: dict[str, list[str]] = {}
    for choice in choices:
        lower.setdefault(choice.lower(), []).append(choice)
    found = difflib.get_close_matches(value.lower(), lower, NEAREST, ALIKE)
    found.sort(key=lambda one: sorted(one) != sorted(value.lower()))
    return [choice for one in found for choice in lower[one]][:NEAREST]


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
