"""The catalogues: attributes of platforms, frameworks and models as published, and what was measured of compilers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import field

from bench_plugin.characterise.compliance.figures import Determinism, Figures, Named, Preservation
from bench_plugin.domain.paths import PACKAGE
from bench_plugin.domain.records import NOT_BLANK, Record, about, read
from bench_plugin.results.known_failures.row_toml import toml_value

FOLDER = PACKAGE / "data" / "catalogues"
PUBLISHED = ("platforms", "frameworks", "models")
MEASURED = FOLDER / "compilers.toml"
Text = Annotated[str, about("a text", pattern=NOT_BLANK)]


class AttributeRecord(Record, frozen=True):
    """An attribute that the source lists. ``key`` is that of entries; without one no entry has it there."""

    name: Text
    key: str = ""
    group: str = ""
    values: str = ""
    meaning: str = ""


class Catalogue(Record, frozen=True):
    """A published catalogue: its ``source``, the attributes that it lists, and its entries by the keys of these.

    An entry has no key where the source gives nothing. ``compiler`` in an entry is the one that we measure.
    """

    source: Text
    attributes: tuple[AttributeRecord, ...]
    entries: tuple[dict[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for an entry with a key that no attribute has, and for one that is empty."""
        known = {one.key for one in self.attributes if one.key} | {"compiler"}
        for number, entry in enumerate(self.entries, 1):
            for key, value in entry.items():
                if key not in known:
                    raise ValueError(f"entry {number}: {key!r} is the key of no attribute; leave out what is not given")
                if not value.strip():
                    raise ValueError(f"entry {number}: {key!r} is empty; leave out what is not given")


class PreservationRecord(Record, frozen=True):
    """As :class:`Preservation`."""

    run: str
    judged: int
    preserved: int
    worst: float


class DeterminismRecord(Record, frozen=True):
    """As :class:`Determinism`."""

    run: str
    cells: int
    same_bits: int
    p99_p50: float
    spread: float


class NamedRecord(Record, frozen=True):
    """As :class:`Named`."""

    model: str
    nodes: int
    traced: int
    fused: int
    source: str


class FiguresRecord(Record, frozen=True):
    """As :class:`Figures`."""

    title: str = ""
    version: str = ""
    preservation: PreservationRecord | None = None
    determinism: DeterminismRecord | None = None
    named: tuple[NamedRecord, ...] = ()
    not_readable: str = ""


class MeasuredFile(Record, frozen=True):
    """The figures of compilers by name."""

    compilers: dict[str, FiguresRecord] = field(default_factory=dict)


def read_catalogue(name: str) -> Catalogue:
    """One of the published catalogues. Raises UsageError for a file that is not valid."""
    return read(FOLDER / f"{name}.toml", Catalogue)


def read_measured(path: Path = MEASURED) -> dict[str, Figures]:
    """The measured figures by compiler; none where there is no file yet. Raises UsageError for a wrong one."""
    if not path.is_file():
        return {}
    return {name: _figures(name, said) for name, said in read(path, MeasuredFile).compilers.items()}


def _figures(name: str, said: FiguresRecord) -> Figures:
    kept, same = said.preservation, said.determinism
    return Figures(
        name, said.title, said.version,
        Preservation(kept.run, kept.judged, kept.preserved, kept.worst) if kept else None,
        Determinism(same.run, same.cells, same.same_bits, same.p99_p50, same.spread) if same else None,
        tuple(Named(one.model, one.nodes, one.traced, one.fused, one.source) for one in said.named), said.not_readable,
    )  # fmt: skip


def measured_text(figures: Mapping[str, Figures]) -> str:
    """The text of the file of measured figures."""
    lines = ["# What was measured of compilers, written by: bench attributes ROWS --traces FILE --write"]
    for name in sorted(figures):
        lines += ["", *_table(name, figures[name])]
    return "\n".join(lines) + "\n"


def _table(name: str, one: Figures) -> Iterator[str]:
    head = f"compilers.{toml_value(name)}"
    yield f"[{head}]"
    for key in ("title", "version", "not_readable"):
        if getattr(one, key):
            yield f"{key} = {toml_value(getattr(one, key))}"
    for key, part in (("preservation", one.preservation), ("determinism", one.determinism)):
        if part is not None:
            yield f"{key} = {_inline(vars(part))}"
    if one.named:
        yield "named = ["
        yield from (f"    {_inline(vars(row))}," for row in sorted(one.named, key=lambda row: row.model))
        yield "]"


def _inline(values: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in values.items()) + " }"


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) and value != int(value) else toml_value(value)
