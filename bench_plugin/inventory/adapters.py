"""The declarations of adapters, read from their files without running them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench_plugin.agent import modules
from bench_plugin.domain.compiler_name import CompilerName
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import convert, load, wrong
from bench_plugin.domain.texts.choices import hint
from bench_plugin.inventory.command_file import CommandFile
from bench_plugin.inventory.declaration_literal import read_literal
from bench_plugin.inventory.declaration_record import RECORDS, AdapterRecord, ConverterRecord
from bench_plugin.reach.boards import probe
from bench_plugin.reach.processes.leased_agent import Source

BUILT_IN = Path(__file__).parent.parent / "adapters"
ENTRY_POINTS = "bench_plugin.adapters"
PROBE = "probe"
COMMAND = "command"  # the adapter of all compilers that a file describes


@dataclass(frozen=True)
class Converter:
    """An exporter or importer as its adapter declares it; ``opsets`` is the supported range, ends included."""

    name: str
    opset: int
    opsets: tuple[int, int]
    distribution: str


@dataclass(frozen=True)
class Adapter:
    """One adapter's declaration. ``digest`` is the SHA-256 of the file, a part of every recipe that uses it."""

    name: str
    kind: str
    toolchain: str
    title: str
    distribution: str
    path: Path
    text: bytes
    digest: str
    exporters: Mapping[str, Converter]
    importers: Mapping[str, Converter]
    default_pairs: tuple[tuple[str, str], ...]
    declaration: Mapping[str, Any]
    uses: tuple[str, ...] = ()

    def build(self, versions: Mapping[str, Any]) -> str:
        """The one of these distributions that brings its tool: its own, or another build of it, as onnxruntime-gpu."""
        others = self.declaration.get("distributions", [])
        builds = [self.distribution, *(name for name in others if name.startswith(f"{self.distribution}-"))]
        return next((name for name in builds if name in versions), self.distribution)

    def toolchain_for(self, framework: str) -> str:
        """The toolchain that it works in, which may depend on the framework that a model comes from."""
        return str(self.declaration.get("toolchains", {}).get(framework, self.toolchain))

    @property
    def graphs(self) -> dict[str, tuple[str, ...]]:
        """For a compiler: the graphs that it can compile at each precision (``original``, ``qdq``, ``w16`` ...)."""
        rows = self.declaration.get("precisions", {})
        if not isinstance(rows, Mapping):
            rows = {name: ["original"] for name in rows}
        return {name: tuple(graphs) for name, graphs in rows.items()}

    @property
    def takes(self) -> tuple[str, ...]:
        """For a compiler: what it compiles from, ``onnx`` or names of frameworks."""
        return tuple(self.declaration.get("takes", ["onnx"]))

    @property
    def targets(self) -> tuple[str, ...]:
        """For a compiler: the targets that it compiles for."""
        return tuple(self.declaration.get("targets", ["local"]))

    @property
    def backends(self) -> tuple[str, ...]:
        """For a compiler: its backends, the default first; empty where there is no choice."""
        return tuple(self.declaration.get("backends", ()))


class Catalog:
    """All adapters by name: built-in ones, then those of entry points and configured paths, which may replace others.

    Raises UsageError for an adapter that cannot be read.
    """

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        self.adapters: dict[str, Adapter] = {}
        self._modules: dict[str, str] = {}
        self._sources: dict[str, list[Source]] = {}  # of those that were asked for
        for path in _built_in():
            adapter = read_adapter(path)
            self.adapters[adapter.name] = adapter
            self._modules[adapter.name] = _dotted(path)
        for found in (_entry_points(), _configured(paths)):
            self._replace([read_adapter(path) for path in found])
        for adapter in self.adapters.values():
            self._check_uses(adapter, ())

    def _replace(self, found: Sequence[Adapter]) -> None:
        """Add adapters that may replace earlier ones. Raises UsageError where two of them have one name."""
        own: dict[str, Adapter] = {}
        for adapter in found:
            other = own.setdefault(adapter.name, adapter)
            if other.path.resolve() != adapter.path.resolve():
                raise wrong(adapter.path, "", ("ADAPTER", "name"), f"{other.path} has the name {adapter.name!r} too")
        self.adapters.update(own)

    def _check_uses(self, adapter: Adapter, above: tuple[str, ...]) -> None:
        """Raises UsageError where an adapter uses one that does not exist, or itself by way of others."""
        users = (*above, adapter.name)
        for number, name in enumerate(adapter.uses):
            place = ("ADAPTER", "uses", number)
            if name not in self.adapters:
                known = f"no adapter is named {name!r}; {hint(name, sorted(self.adapters))}"
                raise wrong(adapter.path, "", place, known)
            if name in users:
                raise wrong(adapter.path, "", place, f"adapters use each other: {' -> '.join((*users, name))}")
            self._check_uses(self.adapters[name], users)

    def __getitem__(self, name: str) -> Adapter:
        try:
            return self.adapters[name]
        except KeyError:
            raise UsageError(f"no adapter is named {name!r}; {hint(name, sorted(self.adapters))}") from None

    def compiler(self, name: str) -> tuple[Adapter, str]:
        """The compiler and the backend of a name such as ``onnxruntime[xnnpack]``; a described command has no backend.

        Raises UsageError where there is no such compiler.
        """
        if name in self.adapters:
            return self.adapters[name], ""
        base, backend = CompilerName.parse(name)
        return self[base], backend

    def describe(self, path: Path) -> None:
        """Add the compiler of a description, as ``command[<name>]``. Raises UsageError if it is not valid."""
        base = self[COMMAND]
        text, said = load(path)
        convert(said, CommandFile, path=path, text=text)
        name = f"{COMMAND}[{path.stem}]"
        digest = hashlib.sha256(base.digest.encode())
        for file in sorted(path.parent.glob(f"{path.stem}*")):
            if file.is_file():
                digest.update(file.read_bytes())
        declaration = {
            **base.declaration, "precisions": said["precisions"], "targets": said.get("targets", ["local"]),
            "takes": said.get("inputs", ["onnx"]), "description": {**said, "path": str(path.resolve())},
            "on_request": True,
        }  # fmt: skip
        self.adapters[name] = replace(
            base, name=name, title=said.get("title", path.stem), toolchain=said.get("toolchain", base.toolchain),
            digest=digest.hexdigest(), declaration=declaration,
        )  # fmt: skip

    def of_kind(self, kind: str) -> dict[str, Adapter]:
        """The adapters of one kind by name, in a stable order."""
        named = (name for name in sorted(self.adapters) if name != COMMAND)
        return {name: self.adapters[name] for name in named if self.adapters[name].kind == kind}

    def sources(self, name: str) -> list[Source]:
        """The files that an agent needs for an adapter: those of the adapters that it uses first, then its own.

        They are as they were when this run began, because recipes contain their hashes.
        """
        if name == PROBE and name not in self.adapters:  # it comes with the agents of boards, for their modes
            return [Source(PROBE, Path(probe.__file__).read_bytes())]
        if name not in self._sources:  # it is asked for before every call
            self._sources[name] = [Source(one, self[one].text, self.module(one)) for one in self.used(name)]
        return self._sources[name]

    def module(self, name: str) -> str:
        """The dotted name by which other adapters import it, also where it replaces a built-in one."""
        base = CompilerName.parse(name)[0] if self[name].path == self.adapters[COMMAND].path else name
        return self._modules.get(base, modules.own(name))

    def used(self, name: str) -> list[str]:
        """The adapters that one uses, in the order in which they are loaded, and itself last."""
        before = [one for used in self[name].uses for one in self.used(used)]
        return list(dict.fromkeys([*before, name]))


def read_adapter(path: Path) -> Adapter:
    """Read the ``ADAPTER`` literal of ``path``. Raises UsageError that names the file and the key."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot read the adapter: {error.strerror}") from error
    own = BUILT_IN in path.parents  # our own tests check these; to do so at every start takes 0.1 s
    declaration = read_literal(path, source, checked=not own)
    said = _checked(path, declaration)
    return Adapter(
        name=said.name,
        kind=said.kind,
        toolchain=said.toolchain,
        title=said.title or said.name,
        distribution=said.distribution or said.name,
        path=path,
        text=source,
        digest=hashlib.sha256(source).hexdigest(),
        exporters=_converters(said, "exporters"),
        importers=_converters(said, "importers"),
        default_pairs=tuple(getattr(said, "default_pairs", ())),
        declaration=declaration,
        uses=said.uses,
    )


def _checked(path: Path, declaration: dict[str, Any]) -> AdapterRecord:
    """The literal as a record of its kind. Raises UsageError that names the file and the key."""
    kind = declaration.get("kind")
    if not isinstance(kind, str) or kind not in RECORDS:
        raise wrong(path, "", ("ADAPTER", "kind"), f"{kind!r} is not valid; {hint(kind, RECORDS)}")
    return convert(declaration, RECORDS[kind], path=path, below=("ADAPTER",))


def _converters(said: AdapterRecord, key: str) -> dict[str, Converter]:
    rows: Mapping[str, ConverterRecord] = getattr(said, key, {})
    return {
        name: Converter(name, row.opsets[1] if row.opset is None else row.opset, row.opsets, row.distribution or name)
        for name, row in rows.items()
    }


def _built_in() -> Iterable[Path]:
    return (path for path in sorted(BUILT_IN.rglob("*.py")) if not path.name.startswith("_"))


def _dotted(path: Path) -> str:
    return ".".join(["bench_plugin", "adapters", *path.relative_to(BUILT_IN).with_suffix("").parts])


def _entry_points() -> Iterable[Path]:
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        top, *rest = point.module.split(".")
        spec = importlib.util.find_spec(top)  # the top package is located, never imported
        if spec is None or spec.origin is None:
            raise UsageError(
                f"entry point {point.name!r} of group {ENTRY_POINTS}: module {point.module!r} is not installed"
            )
        origin = Path(spec.origin)
        yield origin if not rest else origin.parent.joinpath(*rest).with_suffix(".py")


def _configured(paths: Sequence[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.glob("*.py"))
        else:
            yield path
