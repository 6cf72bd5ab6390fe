"""Models as data: one TOML file each, read and checked without importing a framework."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_plugin.domain.recipes import recipe
from bench_plugin.domain.records import convert, load, wrong
from bench_plugin.inventory.declared_parts import content_of, declared_files, declared_variables
from bench_plugin.inventory.imports_beside import imports_beside
from bench_plugin.inventory.inputs_file import InputsFile
from bench_plugin.inventory.model_file import InputSpec, ModelFile
from bench_plugin.reach.processes.given_files import GivenFile

__all__ = ["Constructor", "InputSpec", "Model", "load_model", "load_models"]


@dataclass(frozen=True)
class Constructor:
    """How one framework builds the model: a callable with arguments, as plain data for the agent.

    ``source`` is the text of the file that defines the callable, unless that belongs to an installed module.
    ``layout`` is the order of dimensions (such as NHWC) of this framework, for the inputs that declare a layout.
    """

    framework: str
    spec: Mapping[str, Any]
    layout: str
    source_name: str = ""
    source: str = ""


@dataclass(frozen=True)
class Model:
    """An architecture with its inputs and one constructor per framework, or a user's ONNX file.

    ``samples`` is the number N of inputs, ``seconds`` the processor time that one stage may take, ``memory_gb`` the
    peak memory in GiB, ``environment`` the names of the environment variables that it declares, ``given`` the user's
    own inputs of a user's file.
    """

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
    onnx: GivenFile | None = None
    notes: str = ""
    environment: tuple[str, ...] = ()
    given: InputsFile | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dataset(self) -> str:
        """The dataset that it is trained and tested on; empty where its weights are seeded."""
        return str(self.extra.get("dataset", ""))

    def training(self, framework: str) -> Mapping[str, Any]:
        """How it is trained in a framework (epochs, batch in images, learning rate); empty where weights are seeded."""
        row: Mapping[str, Any] = self.extra.get("training", {})
        return row if framework in row.get("frameworks", ()) else {}

    @property
    def detections(self) -> bool:
        """Whether its outputs are detections, which are compared by matching instead of by norm."""
        return self.task in {"detection", "instance-segmentation"} and not self.boxes_of_places

    @property
    def boxes_of_places(self) -> bool:
        """Whether it is a detector whose outputs are the boxes and scores of every place, before any suppression."""
        return bool(self.extra.get("suppression") == "outside")

    def binding(self, index: int) -> dict[str, int]:
        """The ``index``-th value of every symbol, or its last one where a symbol has fewer."""
        return {name: values[min(index, len(values) - 1)] for name, values in self.symbols.items()}

    @property
    def bindings(self) -> int:
        """The number of different bindings of the symbols; 1 for a static model."""
        return max((len(values) for values in self.symbols.values()), default=1)


def load_model(path: Path) -> Model:
    """Read ``path``. Raises UsageError that names the file, the line, the key and what would be right."""
    text, data = load(path)
    said = convert(data, ModelFile, path=path, text=text)
    digest = hashlib.sha256(text.encode())
    constructors = {
        name: _constructor(path, text, name, row, said.inputs) for name, row in data.get("constructors", {}).items()
    }
    for constructor in constructors.values():
        digest.update(constructor.source.encode())
    digest.update(_beside(path, said, constructors).encode())
    return Model(
        name=said.name, title=said.title or said.name, family=said.family, task=said.task,
        application=said.application, parameters=said.parameters, source=said.source, profiles=said.profiles,
        compiled_profiles=said.profiles if said.compiled is None else said.compiled, inputs=said.inputs,
        outputs=tuple(data.get("outputs", [])), symbols=said.symbols, constructors=constructors, missing=said.missing,
        samples=said.samples, seconds=said.seconds, memory_gb=said.memory_gb, digest=digest.hexdigest(),
        notes=said.notes, environment=said.environment,
        extra={key: data[key] for key in ("dataset", "training", "suppression") if key in data},
    )  # fmt: skip


def _beside(path: Path, said: ModelFile, constructors: Mapping[str, Constructor]) -> str:
    """What a model depends on besides its own files: the imports of its Python files, and what it declares."""
    sources = {str(one.spec["callable"]).partition(":")[0] for one in constructors.values() if one.source_name}
    imports = [imports_beside(path.parent / source) for source in sorted(sources)]
    contents = [{name: content_of(file) for name, file in files.items()} for files in imports]
    files = declared_files(path.parent, said.files)
    variables = declared_variables(said.environment, os.environ)
    if not any(contents) and not files and not variables:
        return ""
    return recipe(stage="model", imports=contents, files=files, environment=variables)


def load_models(folders: Sequence[Path], note: Callable[[str], None] = lambda text: None) -> dict[str, Model]:
    """The models of ``*.toml`` in the folders by name; an earlier folder hides the same name in a later one.

    ``note`` is called with a sentence for each hidden model. Raises UsageError as :func:`load_model` does.
    """
    models: dict[str, Model] = {}
    files: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            model = load_model(path)
            if model.name in models:
                note(f"model {model.name}: {files[model.name]} is used, it hides {path}")
            models.setdefault(model.name, model)
            files.setdefault(model.name, path)
    return models


def _constructor(
    path: Path, text: str, framework: str, row: Mapping[str, Any], inputs: Sequence[InputSpec]
) -> Constructor:
    """A constructor with the text of its Python file, if it names one."""
    layout = row.get("layout", next((spec.layout for spec in inputs if spec.layout), ""))
    name, colon, _ = row["callable"].partition(":")
    if not (colon and name.endswith(".py")):
        return Constructor(framework, row, layout)
    source_path = path.parent / name
    try:
        return Constructor(framework, row, layout, source_path.name, source_path.read_text("utf-8"))
    except OSError as error:
        place = ("constructors", framework, "callable")
        raise wrong(path, text, place, f"cannot read {source_path}: {error.strerror}") from error
