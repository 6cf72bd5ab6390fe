"""The cells of a plan in few bytes, for the plan row of a shard: columns of numbers into lists of values.

A plan of 10,000 cells takes about 400 kB so, a tenth of what objects would take in the results of every shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.domain.axes import AXIS_KEYS

Axes = Mapping[str, Any]


def packed(cells: Sequence[tuple[Axes, int]]) -> dict[str, Any]:
    """Cells by their axes, each with the shard that it is in.

    ``values[axis]`` lists the values of an axis, ``places[axis]`` the place in that list for every cell; an axis that a
    cell does not have is null there, and an axis with one value for all has no places.

    >>> packed([({"model": "a", "opset": 13}, 1), ({"model": "b", "opset": 13}, 2)])
    {'values': {'model': ['a', 'b'], 'opset': [13]}, 'places': {'model': [0, 1]}, 'shards': [1, 2]}
    """
    named = {axis for one, _ in cells for axis in one}
    axes = [*(axis for axis in AXIS_KEYS if axis in named), *sorted(named.difference(AXIS_KEYS))]
    values: dict[str, list[Any]] = {}
    places: dict[str, list[int]] = {}
    for axis in axes:
        column = [one.get(axis) for one, _ in cells]
        index = {value: place for place, value in enumerate(dict.fromkeys(column))}
        values[axis] = list(index)
        if len(index) > 1:
            places[axis] = [index[value] for value in column]
    return {"values": values, "places": places, "shards": [shard for _, shard in cells]}


def unpacked(plan: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """The cells of :func:`packed`. Raises KeyError, IndexError or TypeError for what is not of that form."""
    values, places = plan["values"], plan["places"]
    for number, shard in enumerate(plan["shards"]):
        picked = {axis: column[places[axis][number] if axis in places else 0] for axis, column in values.items()}
        yield {axis: value for axis, value in picked.items() if value is not None}, shard
