"""Which constants a tool rounded, read from its outputs: the choice that explains best how they differ.

To first order the roundings of several constants add up: y - f = sum of c_i d_i, where f are the exact outputs, d_i
what rounding the constant i changes, and c_i is 1 where the tool rounded it, else 0. The c_i of the least squares are
found first, as real numbers, and then the choice of zeros and ones next to them, one constant turned at a time.
What several change together beyond that sum is taken off once the outputs with a first choice are known, and the
choice is made again (:func:`without_cross_terms`). Constants may change the outputs alike (a weight, and one that is
half of it, or a divisor and its reciprocal): of those the least squares would take a part each, so that only the first
one takes part in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LEAST_VALUES = 2  # of the outputs for each constant: each has some ten bits that show, a choice is one
TURNS = 20  # times that all constants are tried one after another
APART = 0.05  # of what a constant changes: the part that others in front of it do not explain


def chosen(
    exact: Mapping[str, Array], effects: Mapping[int, Mapping[str, Array]], found: Mapping[str, Array],
    scales: Mapping[str, float],
) -> frozenset[int] | None:  # fmt: skip
    """The constants by number whose rounding explains ``found`` best; None where there are too few values to tell.

    ``exact`` holds the values [n] of each output without any rounding, ``effects`` those with one constant rounded, by
    its number, and ``found`` those of the tool. ``scales`` are the units in which each output's differences count.
    """
    if not exact:
        return None
    changed = _differences(exact, effects.values(), scales)
    error = _differences(exact, [found], scales)[:, 0]
    usable = np.isfinite(changed).all(axis=1) & np.isfinite(error)
    changed, error = changed[usable], error[usable]
    if len(error) < LEAST_VALUES * max(changed.shape[1], 1):
        return None
    shares = np.zeros(changed.shape[1])
    if changed.size:
        apart = _independent(changed)
        shares[apart] = np.linalg.lstsq(changed[:, apart], error, rcond=None)[0]
    products, wanted = changed.T @ changed, changed.T @ error
    starts = (np.rint(np.clip(shares, 0, 1)), np.ones(len(shares)), np.zeros(len(shares)))
    best = min((_turned(products, wanted, start) for start in starts), key=lambda one: _left(products, wanted, one))
    return frozenset(number for number, taken in zip(effects, best, strict=True) if taken)


def without_cross_terms(
    exact: Mapping[str, Array], effects: Mapping[int, Mapping[str, Array]], found: Mapping[str, Array],
    numbers: frozenset[int], together: Mapping[str, Array],
) -> dict[str, Array]:  # fmt: skip
    """``found`` [n] of each output less what the constants ``numbers`` change together beyond the sum of their changes.

    ``together`` holds the values [n] with all of them rounded; for the others see :func:`chosen`.
    """
    return {
        name: found[name] - together[name] + values + sum(effects[one][name] - values for one in numbers)
        for name, values in exact.items()
    }


def named(rows: Sequence[Mapping[str, Any]], numbers: frozenset[int], most: int = 4) -> str:
    """In words which of the constants in ``rows`` are rounded.

    A row has the ``name`` of a constant; one whose ``of`` names another constant is another way to round that one.
    """
    taken = {str(rows[number].get("of") or rows[number]["name"]) for number in numbers}
    others = [str(row["name"]) for index, row in enumerate(rows) if row.get("of") and index in numbers]
    names = [str(row["name"]) for row in rows if not row.get("of")]
    left = [name for name in names if name not in taken]
    said = f"{len(names) - len(left)} of {len(names)} constants"
    if left:
        said += f", not {_some(left, most)}"
    return said + (f"; as {_some(others, most)}" if others else "")


def _some(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _differences(
    exact: Mapping[str, Array], others: Iterable[Mapping[str, Array]], scales: Mapping[str, float]
) -> Array:
    """The differences from the exact values of all outputs, [values, others], in units of each output's scale."""
    columns = [
        np.concatenate([(other[name].astype(np.float64) - exact[name]) / (scales[name] or 1.0) for name in exact])
        for other in others
    ]
    rows = sum(values.size for values in exact.values())
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0))


def _independent(changed: Array) -> list[int]:
    """The columns of [values, constants] that the ones in front of them do not explain, by Gram and Schmidt."""
    found: list[int] = []
    basis = np.zeros_like(changed)
    for place, column in enumerate(changed.T):
        known = basis[:, : len(found)]
        rest = column - known @ (known.T @ column)
        size = float(np.linalg.norm(rest))
        if size > APART * float(np.linalg.norm(column)):
            basis[:, len(found)] = rest / size
            found.append(place)
    return found


def _turned(products: Array, wanted: Array, start: Array) -> Array:
    """The choice [constants] that no turn of a single constant makes better, from ``start`` on."""
    choice = start.copy()
    slope = products @ choice - wanted
    for _ in range(TURNS):
        before = choice.copy()
        for place in range(len(choice)):
            step = 1.0 - 2.0 * choice[place]
            if step * slope[place] + 0.5 * products[place, place] < 0:  # half of what the square of the error changes
                choice[place] += step
                slope += step * products[:, place]
        if np.array_equal(choice, before):
            break
    return choice


def _left(products: Array, wanted: Array, choice: Array) -> float:
    """The square of the error that a choice leaves, less that of no choice at all."""
    return float(choice @ products @ choice - 2.0 * wanted @ choice)
