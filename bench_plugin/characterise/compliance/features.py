"""What a node asks of its operator beside a version and types: attributes that are not the default, its rank.

A case that failed says nothing of a node that does not ask for what the case asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_plugin.characterise.facts import Facts, Node

RANK, VARIES, OUTPUTS, UNEVEN = "rank", "input", "outputs", "uneven"
FLAGS = ("0", "1")
WORD = re.compile(r"[\w.+-]+")  # what tables can hold


def features_of(node: Node, facts: Facts, defaults: Mapping[str, str]) -> tuple[str, ...]:
    """The features of a node, sorted.

    ``auto_pad=VALID`` and ``ceil_mode=1``: a word or a flag that is not the default; ``axis``: another attribute that
    is not the default, nor a list of zeros or of ones; ``pads_uneven``: they differ at the two ends; ``rank=4``: of the
    first input; ``input_1_varies``: a further input is no constant; ``outputs=2``: more than one output is used.
    """
    found = [name for key, value in node.attributes.items() for name in _of_attribute(key, value, defaults.get(key))]
    first = facts.tensor(node.inputs[0]).shape if node.inputs else None
    if first is not None:
        found.append(f"{RANK}={len(first)}")
    found += [
        f"{VARIES} {place} varies" for place, name in enumerate(node.inputs)
        if place and name and not facts.tensor(name).constant
    ]  # fmt: skip
    used = sum(bool(name) for name in node.outputs)
    if used > 1:
        found.append(f"{OUTPUTS}={used}")
    return tuple(sorted(name.replace(" ", "_") for name in found))


def concerns(asked: Sequence[str], tried: Sequence[str]) -> bool:
    """Whether a case that failed asks for nothing that the node does not ask for, so that its failure concerns it."""
    ranked = any(_is_rank(name) for name in asked)
    return all(name in asked or (_is_rank(name) and not ranked) for name in tried)


def unproven(asked: Sequence[str], passed: Iterable[Sequence[str]]) -> list[str]:
    """What the node asks for and no case that passed does; a rank alone is nothing."""
    proven = {name for features in passed for name in features}
    return [name for name in asked if name not in proven and not _is_rank(name)]


def _is_rank(name: str) -> bool:
    return name.startswith(f"{RANK}=")


def _of_attribute(key: str, value: Any, default: str | None) -> list[str]:
    if isinstance(value, list):
        if len(set(value)) == 1 and value[0] in (0, 1):
            return []
        half = len(value) // 2
        return [key, f"{key} {UNEVEN}"] if key == "pads" and value[:half] != value[half:] else [key]
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if text == default:
        return []
    if (isinstance(value, str) and WORD.fullmatch(text)) or (text in FLAGS and default in FLAGS):
        return [f"{key}={text}"]
    return [key]
