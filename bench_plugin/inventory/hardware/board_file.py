"""The file of a board, ``boards/<name>.toml``: its keys, their types, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from bench_plugin.domain.choices import hint
from bench_plugin.domain.records import Record, about, convert, load, wrong
from bench_plugin.reach.boards.board import Board
from bench_plugin.reach.boards.registry import KINDS


class BoardFile(Record, frozen=True):
    """A machine that artefacts are run on."""

    name: Annotated[str, about("what --targets calls it; the name of the file")]
    target: Annotated[str, about("its target, a file of boards/targets")]
    reach: Annotated[dict[str, Any], about("how it is reached: kind, and the keys of that kind")]
    title: Annotated[str, about("what grids call it")] = ""


def read_board(path: Path, targets: Iterable[str]) -> Board:
    """The board that a file describes, of one of the known ``targets``.

    Raises UsageError, with the file and the line, for a file that cannot be read or is not valid.
    """
    text, data = load(path)
    said = convert(data, BoardFile, path=path, text=text)
    if said.name != path.stem:
        raise wrong(path, text, ("name",), f"it is {said.name!r}; it must be that of the file, {path.stem!r}")
    known = sorted(targets)
    if said.target not in known:
        raise wrong(path, text, ("target",), f"there is no target {said.target!r}{hint(said.target, known)}")
    kind = said.reach.get("kind", "")
    if kind not in KINDS:
        raise wrong(path, text, ("reach", "kind"), f"it is {kind!r}; valid are: {', '.join(KINDS)}")
    settings: Mapping[str, Any] = {name: value for name, value in said.reach.items() if name != "kind"}
    return Board(said.name, said.target, kind, settings, said.title)
