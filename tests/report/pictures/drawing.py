"""What was drawn: the marks of an SVG file, counted by kind."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

SPACE = "{http://www.w3.org/2000/svg}"


def marks(svg: str) -> Counter[str]:
    """How many marks of each kind (rect, text, symbol, line, rule ...) the data have; axes and legends not counted."""
    found: Counter[str] = Counter()
    for group in ElementTree.fromstring(svg).iter(f"{SPACE}g"):
        kinds = group.get("class", "").split()
        if "role-mark" in kinds:
            kind = next(one for one in kinds if one.startswith("mark-")).removeprefix("mark-")
            found[kind] += sum(child.tag in (f"{SPACE}path", f"{SPACE}text") and _seen(child) for child in group)
    return found


def texts(svg: str) -> list[str]:
    """All texts, in the order of the file."""
    return [one.text or "" for one in labels(svg)]


def labels(svg: str) -> list[ElementTree.Element]:
    """All elements of text."""
    return list(ElementTree.fromstring(svg).iter(f"{SPACE}text"))


def shapes(svg: str) -> list[str]:
    """The outline of every symbol of the data."""
    groups = [one for one in ElementTree.fromstring(svg).iter(f"{SPACE}g") if "mark-symbol" in one.get("class", "")]
    return [path.get("d", "") for one in groups if "role-mark" in one.get("class", "") for path in one]


def _seen(child: ElementTree.Element) -> bool:
    return child.tag.endswith("text") or bool(child.get("d"))
