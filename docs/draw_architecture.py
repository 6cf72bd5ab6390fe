"""Draws docs/architecture.svg from what the code imports: rooms in the order of the contract of layers, arrows, files.

``python docs/draw_architecture.py`` writes the picture, ``--check`` says whether the committed one is that of the code.
It ends with 1 when an import runs up, or when a folder has more than fifteen files.
"""

from __future__ import annotations

import argparse
import ast
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "bench_plugin"
PICTURE = ROOT / "docs" / "architecture.svg"
MOST_FILES = 15  # of one folder, its __init__.py not counted
FAR_END = "adapters"  # beside the layers: agents load adapters by content, nothing imports them

WIDTH, MARGIN, LANE = 1000, 84, 11  # of the picture; beside the boxes, where long arrows run; between two of these
HEIGHT, GAP = 62, 30  # of a box, and between two rows
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .name { font-weight: 600; font-size: 14px }
.files { fill: #59636e } rect { fill: #f6f8fa; stroke: #59636e } path { fill: none; stroke: #59636e; stroke-width: 1.3 }
marker path { fill: #59636e; stroke: none } .far rect { stroke-dasharray: 5 3 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .files { fill: #9198a1 } rect { fill: #151b23; stroke: #9198a1 } path { stroke: #9198a1 }
marker path { fill: #9198a1 } }
"""


class ArchitectureError(Exception):
    """The code does not keep to the rules that the picture shows."""


@dataclass(frozen=True)
class Room:
    """A module or folder below the package: its subject, and the number of files in it and in each folder below."""

    name: str
    subject: str
    files: Mapping[str, int]

    @property
    def total(self) -> int:
        """Files in the room, those of its folders included."""
        return sum(self.files.values())


@dataclass(frozen=True)
class Box:
    """Where a room is drawn."""

    room: Room
    row: int
    x: float
    width: float

    @property
    def top(self) -> float:
        """The upper edge."""
        return GAP + self.row * (HEIGHT + GAP)

    @property
    def middle(self) -> float:
        """The middle of the upper and lower edge."""
        return self.x + self.width / 2


def read_layers() -> list[list[str]]:
    """The rows of rooms, the uppermost first, from import-linter's contract in pyproject.toml; the far end beside."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == [PACKAGE])
    rows = [[name.strip() for name in layer.split("|")] for layer in layers]
    rows[-2].append(FAR_END)
    return rows


def read_room(name: str) -> Room:
    """A room with its subject and the files that it has."""
    place = ROOT / PACKAGE / name
    if not place.is_dir():
        return Room(name, _subject(place.with_suffix(".py")), {f"{name}.py": 1})
    folders = [
        place,
        *(path for path in sorted(place.rglob("*")) if path.is_dir() and (path / "__init__.py").is_file()),
    ]
    files = {str(folder.relative_to(ROOT / PACKAGE)): _count(folder) for folder in folders}
    return Room(name, _subject(place / "__init__.py"), files)


def read_imports(rooms: Iterable[str]) -> dict[str, set[str]]:
    """Which rooms each room imports; imports for type checkers alone do not count."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            source, target = _room(module), _room(imported)
            if source != target and source in found and target in found:
                found[source].add(target)
    return found


def check_direction(rows: Sequence[Sequence[str]], imports: Mapping[str, set[str]]) -> None:
    """Raises ArchitectureError for an import that does not run down."""
    row_of = {room: number for number, row in enumerate(rows) for room in row}
    for room, targets in imports.items():
        for target in sorted(targets):
            if row_of[target] <= row_of[room]:
                raise ArchitectureError(f"{room} imports {target}, which does not stand below it")


def check_sizes(rooms: Iterable[Room]) -> None:
    """Raises ArchitectureError for folders with too many files."""
    crowded = [
        f"{folder} has {count} files" for room in rooms for folder, count in room.files.items() if count > MOST_FILES
    ]
    if crowded:
        raise ArchitectureError(f"{', '.join(crowded)}; a folder has at most {MOST_FILES}")


def without_implied(imports: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """The arrows to draw: those that no path over other rooms stands for."""

    def reached(room: str) -> set[str]:
        return imports[room].union(*(reached(target) for target in imports[room]))

    return {
        room: sorted(target for target in targets if not any(target in reached(other) for other in targets))
        for room, targets in imports.items()
    }


def draw(rows: Sequence[Sequence[str]], imports: Mapping[str, set[str]]) -> str:
    """The picture as SVG."""
    boxes = {box.room.name: box for number, row in enumerate(rows) for box in _row(number, row)}
    lanes: dict[str, float] = {}
    arrows = [
        _arrow(boxes[source], boxes[target], lanes)
        for source, targets in without_implied(imports).items()
        for target in targets
    ]
    height = GAP + len(rows) * (HEIGHT + GAP)
    drawn = [_drawn(box, sorted(imports[name])) for name, box in boxes.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'role="img" aria-label="The rooms of bench_plugin and what they import">',
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 L8 4 L0 8 Z"/></marker></defs>',
            *arrows,
            *drawn,
            "</svg>\n",
        ]
    )


def main() -> int:
    """Write the picture, or compare it; returns the exit code."""
    parser = argparse.ArgumentParser(description="Draw docs/architecture.svg from what the code imports.")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 when the picture is stale")
    arguments = parser.parse_args()
    rows = read_layers()
    names = [name for row in rows for name in row]
    imports = read_imports(names)
    try:
        check_direction(rows, imports)
        picture = draw(rows, imports)
        if not arguments.check:
            PICTURE.write_text(picture, "utf-8")
        if not PICTURE.is_file() or PICTURE.read_text("utf-8") != picture:
            raise ArchitectureError("docs/architecture.svg is stale; run: python docs/draw_architecture.py")
        check_sizes(map(read_room, names))
    except ArchitectureError as error:
        print(f"draw_architecture: {error}", file=sys.stderr)
        return 1
    return 0


def _subject(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return docstring.splitlines()[0].replace("``", "").rstrip(".")


def _count(folder: Path) -> int:
    return sum(path.name != "__init__.py" for path in folder.glob("*.py"))


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _row(number: int, names: Sequence[str]) -> list[Box]:
    space = 18.0
    width = min(420.0, (WIDTH - 2 * MARGIN - space * (len(names) - 1)) / len(names))
    left = (WIDTH - len(names) * width - (len(names) - 1) * space) / 2
    return [Box(read_room(name), number, left + index * (width + space), width) for index, name in enumerate(names)]


def _arrow(source: Box, target: Box, lanes: dict[str, float]) -> str:
    if target.row == source.row + 1:
        return _path([(source.middle, source.top + HEIGHT), (target.middle, target.top)])
    right = source.middle > WIDTH / 2
    if source.room.name not in lanes:  # one lane for all long arrows of a room
        side = [name for name in lanes if (lanes[name] > WIDTH / 2) == right]
        offset = MARGIN - 12 - LANE * len(side)
        lanes[source.room.name] = WIDTH - offset if right else offset
    lane = lanes[source.room.name]
    leave = source.top + HEIGHT + 6
    enter = target.top - 8 - 2 * (len(lanes) % 4)
    start, end = (source.middle + (24 if right else -24)), (target.middle + (24 if right else -24))
    corners = [(start, source.top + HEIGHT), (start, leave), (lane, leave), (lane, enter), (end, enter)]
    return _path([*corners, (end, target.top)])


def _path(points: Sequence[tuple[float, float]]) -> str:
    return f'<path marker-end="url(#tip)" d="M{" L".join(f"{x:.0f} {y:.0f}" for x, y in points)}"/>'


def _drawn(box: Box, imported: Sequence[str]) -> str:
    room, inside = box.room, box.x + 12
    files = f"{room.total} file{'s' * (room.total != 1)}"
    said = textwrap.wrap(room.subject, int((box.width - 24) / 6.5), max_lines=2, placeholder=" …")
    detail = "; ".join(f"{folder}: {count}" for folder, count in room.files.items() if "/" in folder)
    tip = f"{room.subject}. Imports: {', '.join(imported) or 'nothing of ours'}." + (f" {detail}." if detail else "")
    kind = ' class="far"' if room.name in (FAR_END, "agent") else ""
    lines = [
        f'<text x="{inside:.0f}" y="{box.top + 36 + 15 * n:.0f}">{escape(line)}</text>' for n, line in enumerate(said)
    ]
    return (
        f"<g{kind}><title>{escape(tip)}</title>"
        f'<rect x="{box.x:.0f}" y="{box.top:.0f}" width="{box.width:.0f}" height="{HEIGHT}" rx="6"/>'
        f'<text class="name" x="{inside:.0f}" y="{box.top + 19:.0f}">{escape(room.name)}'
        f'<tspan class="files" dx="8" font-weight="400" font-size="12">{files}</tspan></text>{"".join(lines)}</g>'
    )


if __name__ == "__main__":
    sys.exit(main())
