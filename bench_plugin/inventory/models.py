"""Models as data: one TOML file each, read and checked without importing a framework."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import UsageError

DTYPES = ("float32", "float64", "int32", "int64", "bool")
VALUES = ("normal", "uniform", "image", "pixels", "tokens")
PROFILES = ("smoke", "quick", "published", "full")


@dataclass(frozen=True)
class InputSpec:
    """One input: symbolic dimensions are strings, bound by the model's ``symbols``."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    layout: str
    values: str
    high: int

    def bound(self, binding: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with every symbol replaced by its number."""
        return tuple(binding[d] if isinstance(d, str) else d for d in self.shape)


@dataclass(frozen=True)
class Constructor:
    """How one framework makes the model: a callable with arguments, as plain data for the agent.

    ``source`` is the text of the file that defines the callable, when it is not an installed module's.
    ``layout`` is what this framework's model takes for the inputs that declare a layout.
    """

    framework: str
    spec: Mapping[str, Any]
    layout: str
    source_name: str = ""
    source: str = ""


@dataclass(frozen=True)
class Model:
    """An architecture with a name, its input specs and one constructor per framework; or a plain ONNX file."""

    name: str
    title: str
    family: str
    task: str
    application: str
    parameters: int
    source: str
    profiles: tuple[str, ...]
    compiled_profiles: tuple[str, ...]
    inputs: tuple[InputSpec, ...]
    outputs: tuple[Mapping[str, Any], ...]
    symbols: Mapping[str, tuple[int, ...]]
    constructors: Mapping[str, Constructor]
    missing: Mapping[str, str]
    samples: int
    seconds: float
    memory_gb: float
    digest: str
    onnx: Path | None = None
    notes: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dataset(self) -> str:
        """The dataset that it is trained and judged on; empty where its weights are drawn."""
        return str(self.extra.get("dataset", ""))

    def training(self, framework: str) -> Mapping[str, Any]:
        """How it is trained in a framework (epochs, batch, rate); empty where its weights are drawn."""
        row: Mapping[str, Any] = self.extra.get("training", {})
        return row if framework in row.get("frameworks", ()) else {}

    @property
    def detections(self) -> bool:
        """Whether outputs are detections, compared by matching instead of by norm."""
        return self.task in {"detection", "instance-segmentation"}

    def binding(self, index: int) -> dict[str, int]:
        """The ``index``-th value of every symbol (the last one where a symbol has fewer)."""
        return {name: values[min(index, len(values) - 1)] for name, values in self.symbols.items()}

    @property
    def bindings(self) -> int:
        """How many different bindings the symbols offer; 1 for a static model."""
        return max((len(values) for values in self.symbols.values()), default=1)


def load_model(path: Path) -> Model:
    """Read ``path``; raise UsageError that names the file, the key and what would be right."""
    text = path.read_bytes()
    try:
        data = tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from error
    return _Reader(path, data, text).model()


def load_models(folders: Sequence[Path]) -> dict[str, Model]:
    """Every ``*.toml`` of the folders by name; a name in an earlier folder hides the same name in a later one."""
    models: dict[str, Model] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            model = load_model(path)
            models.setdefault(model.name, model)
    return models


class _Reader:
    def __init__(self, path: Path, data: Mapping[str, Any], text: bytes) -> None:
        self.path = path
        self.data = data
        self.hash = hashlib.sha256(text)

    def model(self) -> Model:
        known = {
            "name", "title", "family", "task", "application", "parameters", "source", "profiles", "inputs", "outputs",
            "symbols", "constructors", "missing", "samples", "seconds", "memory_gb", "notes", "weights", "compiled",
            "dataset", "training",
        }  # fmt: skip
        unknown = sorted(set(self.data) - known)
        if unknown:
            raise self.error(unknown[0], f"unknown key; valid keys are {', '.join(sorted(known))}")
        symbols = {name: tuple(values) for name, values in self.data.get("symbols", {}).items()}
        inputs = tuple(self.input_spec(row, symbols) for row in self.want("inputs", list))
        constructors = {
            name: self.constructor(name, row, inputs) for name, row in self.data.get("constructors", {}).items()
        }
        profiles = tuple(self.data.get("profiles", ["full"]))
        compiled = tuple(self.data.get("compiled", profiles))
        for key, names in (("profiles", profiles), ("compiled", compiled)):
            for profile in names:
                self.one_of(key, profile, PROFILES)
        return Model(
            name=self.want("name", str),
            title=self.data.get("title", self.data["name"]),
            family=self.want("family", str),
            task=self.want("task", str),
            application=self.data.get("application", ""),
            parameters=self.data.get("parameters", 0),
            source=self.data.get("source", ""),
            profiles=profiles,
            compiled_profiles=compiled,
            inputs=inputs,
            outputs=tuple(self.data.get("outputs", [])),
            symbols=symbols,
            constructors=constructors,
            missing=self.data.get("missing", {}),
            samples=self.data.get("samples", 16),
            seconds=float(self.data.get("seconds", 300)),
            memory_gb=float(self.data.get("memory_gb", 2)),
            digest=self.hash.hexdigest(),
            notes=self.data.get("notes", ""),
            extra={key: self.data[key] for key in ("weights", "dataset", "training") if key in self.data},
        )

    def input_spec(self, row: Mapping[str, Any], symbols: Mapping[str, Sequence[int]]) -> InputSpec:
        for key in ("name", "shape"):
            if key not in row:
                raise self.error(f"inputs.{key}", "missing")
        for dim in row["shape"]:
            if isinstance(dim, str) and dim not in symbols:
                raise self.error("inputs.shape", f"dimension {dim!r} has no values; add them under [symbols]")
        dtype = self.one_of("inputs.dtype", row.get("dtype", "float32"), DTYPES)
        values = self.one_of("inputs.values", row.get("values", "normal"), VALUES)
        return InputSpec(
            row["name"], dtype, tuple(row["shape"]), row.get("layout", ""), values, int(row.get("high", 0))
        )

    def constructor(self, framework: str, row: Mapping[str, Any], inputs: Sequence[InputSpec]) -> Constructor:
        target = row.get("callable")
        if not isinstance(target, str):
            raise self.error(
                f"constructors.{framework}.callable", "missing; write 'module.attribute' or 'file.py:name'"
            )
        layout = row.get("layout", next((spec.layout for spec in inputs if spec.layout), ""))
        if ".py:" not in target:
            return Constructor(framework, row, layout)
        source_path = self.path.parent / target.split(":")[0]
        try:
            source = source_path.read_text("utf-8")
        except OSError as error:
            raise self.error(
                f"constructors.{framework}.callable", f"cannot read {source_path}: {error.strerror}"
            ) from error
        self.hash.update(source.encode())
        return Constructor(framework, row, layout, source_path.name, source)

    def want(self, key: str, kind: type) -> Any:
        value = self.data.get(key)
        if not isinstance(value, kind):
            raise self.error(key, f"a {kind.__name__} is needed, found {type(value).__name__}")
        return value

    def one_of(self, key: str, value: str, valid: Sequence[str]) -> str:
        if value not in valid:
            raise self.error(key, f"{value!r} is not valid; one of {', '.join(valid)}")
        return value

    def error(self, key: str, text: str) -> UsageError:
        return UsageError(f"{self.path}: {key}: {text}")
