"""The file of a board, ``boards/<name>.toml``: its keys, their types, and what they mean."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.recipes import recipe
from bench_plugin.domain.records import NOT_BLANK, Record, about, convert, load, wrong
from bench_plugin.domain.texts.choices import hint
from bench_plugin.reach.boards.board import BOOT_SECONDS, LEASE_SECONDS, Board
from bench_plugin.reach.boards.reach import Reach
from bench_plugin.reach.boards.registry import MODULES, is_emulated, module_of, reach_of

LOOPBACK = ("127.0.0.1", "::1", "localhost")
Word = Annotated[str, about("one argument", pattern=NOT_BLANK)]
Command = tuple[Word, ...]


class PowerSensor(Record, frozen=True):
    """A sensor of the board's power, read on the board."""

    kind: Annotated[
        Literal["hwmon", "powercap"],
        about("hwmon: a file with microwatts, power1_input; powercap: a file with microjoules, energy_uj"),
    ]
    path: Annotated[str, about("the sensor's file on the board", pattern="^/")]


class BoardFile(Record, frozen=True):
    """A machine that artefacts are run on."""

    target: Annotated[str, about("its target, the name of a file of boards/targets")]
    reach: Annotated[dict[str, Any], about("how it is reached: kind, and the keys of that kind")]
    name: Annotated[
        str, about("what --targets calls it; the name of the file, which is also what it is if left out")
    ] = ""
    title: Annotated[str, about("what grids call it")] = ""
    power: Annotated[PowerSensor | None, about("the sensor of its power")] = None
    modes: Annotated[
        dict[str, Annotated[Command, about("an argument list, never a shell string", min_length=1)]],
        about("commands of the board that bring it into a mode, such as performance, each as an argument list"),
    ] = msgspec.field(default_factory=dict)
    usual_mode: Annotated[
        str, about("the mode that a run which sweeps modes (--bench-modes) brings it back into, a key of modes")
    ] = ""
    restart: Annotated[
        Command, about("the command of this machine that restarts a board which does not answer, as an argument list")
    ] = ()
    power_cycle: Annotated[
        Command, about("the command of this machine that switches its power off and on, as an argument list")
    ] = ()
    boot_seconds: Annotated[float, about("how long it may take to answer after one of these", gt=0)] = BOOT_SECONDS
    lease_seconds: Annotated[
        float, about("how long one stage of a cell may hold the board; other runs wait that long for it", gt=0)
    ] = LEASE_SECONDS
    same_machine: Annotated[
        bool, about("it is this machine, reached over its loopback; else a cell that ran here is an error")
    ] = False
    emulated: Annotated[
        bool | None, about("it is a program that each run starts for itself, so its times say nothing of hardware")
    ] = None
    ram_bytes: Annotated[int, about("RAM that a model may use; 0: as its target says", ge=0)] = 0
    flash_bytes: Annotated[int, about("flash memory that a model may use; 0: as its target says", ge=0)] = 0


def read_board(path: Path, targets: Iterable[str]) -> Board:
    """The board that a file describes, of one of the known ``targets``.

    Raises UsageError, with the file and the line, for a file that cannot be read or is not valid.
    """
    text, data = load(path)
    said = convert(data, BoardFile, path=path, text=text)
    if said.name not in ("", path.stem):
        raise wrong(path, text, ("name",), f"it is {said.name!r}; it must be that of the file, {path.stem!r}")
    known = sorted(targets)
    if said.target not in known:
        message = f"there is no target {said.target!r}; {hint(said.target, known, listed='targets')}"
        raise wrong(path, text, ("target",), message)
    kind = said.reach.get("kind")
    if kind is None:
        raise wrong(path, text, ("reach", "kind"), f"missing; valid are: {', '.join(MODULES)}")
    if kind not in MODULES:
        raise wrong(path, text, ("reach", "kind"), f"it is {kind!r}; valid are: {', '.join(MODULES)}")
    settings = _settings(path, text, kind, said.reach)
    if said.same_machine and settings.get("host") not in LOOPBACK:
        message = f"it is true, but reach.host is not this machine's loopback ({', '.join(LOOPBACK)})"
        raise wrong(path, text, ("same_machine",), message)
    if said.usual_mode and said.usual_mode not in said.modes:
        raise wrong(path, text, ("usual_mode",), f"it is {said.usual_mode!r}; {hint(said.usual_mode, said.modes)}")
    return Board(
        name=path.stem, target=said.target, kind=kind, settings=settings, title=said.title,
        power=msgspec.structs.asdict(said.power) if said.power else {}, modes=said.modes,
        usual_mode=said.usual_mode, restart=said.restart, power_cycle=said.power_cycle,
        boot_seconds=said.boot_seconds, lease_seconds=said.lease_seconds,
        same_machine=said.same_machine, ram_bytes=said.ram_bytes, flash_bytes=said.flash_bytes,
        emulated=is_emulated(kind, settings) if said.emulated is None else said.emulated,
        digest=recipe(stage="board", said=repr(_ordered(data))),
    )  # fmt: skip


def read_reach(path: Path, targets: Iterable[str]) -> Reach:
    """The reach of the board that a file describes. Raises UsageError as :func:`read_board` does."""
    board = read_board(path, targets)
    try:
        return reach_of(board)
    except UsageError as error:
        raise wrong(path, load(path)[0], ("reach",), str(error)) from error


def _settings(path: Path, text: str, kind: str, reach: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the table ``reach`` beside ``kind``, with the defaults of those that are left out.

    Raises UsageError for a key or value that the kind's record does not have.
    """
    record = module_of(kind).SETTINGS
    given = {key: value for key, value in reach.items() if key != "kind"}
    settings = msgspec.structs.asdict(convert(given, record, path=path, text=text, below=("reach",)))
    for key in _files(record):
        if isinstance(settings.get(key), str) and settings[key]:
            settings[key] = _located(path, text, key, settings[key])
    return settings


def _files(record: type[Record]) -> list[str]:
    """The keys of a record that name files."""
    hints = typing.get_type_hints(record, include_extras=True)
    return [key for key, kind in hints.items() if any((one.extra or {}).get("file") for one in _metas(kind))]


def _metas(kind: Any) -> list[msgspec.Meta]:
    return [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, msgspec.Meta)]


def _located(path: Path, text: str, key: str, name: str) -> str:
    """The absolute path of a file that a board's file names. Raises UsageError for ``../`` out of its folder."""
    given = Path(name).expanduser()
    if given.is_absolute():
        return str(given)
    if ".." in given.parts:
        message = f"{name!r} leads out of the folder of this file; if that is meant, write the absolute path"
        raise wrong(path, text, ("reach", key), message)
    return str(path.parent.absolute() / given)


def _ordered(value: Any) -> Any:
    """Data of a TOML file without the order of its keys, which means nothing."""
    if isinstance(value, Mapping):
        return [[key, _ordered(value[key])] for key in sorted(value)]
    return [_ordered(one) for one in value] if isinstance(value, list) else value
