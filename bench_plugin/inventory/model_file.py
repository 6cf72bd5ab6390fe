"""The file of a model, ``fixtures/models/<name>.toml``: its keys, their types, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import field

from bench_plugin.domain.records import Record, about
from bench_plugin.domain.settings import Profile

Texts = tuple[str, ...]
Count = Annotated[int, about("a positive whole number", ge=1)]


class InputSpec(Record, frozen=True):
    """One input. Symbolic dimensions are names, bound by the model's ``symbols``."""

    name: Annotated[str, about("the input's name")]
    shape: Annotated[tuple[Count | str, ...], about("its dimensions: numbers, or names that [symbols] gives values")]
    dtype: Annotated[Literal["float32", "float64", "int32", "int64", "bool"], about("the type of its elements")] = (
        "float32"
    )
    layout: Annotated[str, about("the order of its dimensions, such as NCHW")] = ""
    values: Annotated[
        Literal["normal", "uniform", "image", "pixels", "tokens"],
        about("how its values are generated; pixels: images in [0, 1]; tokens: whole numbers below high"),
    ] = "normal"
    high: Annotated[int, about("of tokens: the number that all are below", ge=0)] = 0

    def bound(self, binding: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with every symbol replaced by its number. Raises KeyError for a symbol without one."""
        return tuple(binding[d] if isinstance(d, str) else d for d in self.shape)


class OutputFile(Record, frozen=True):
    """One output."""

    name: Annotated[str, about("the role of the output, such as logits, or boxes, labels, scores and masks")]


class ConstructorFile(Record, frozen=True):
    """How one framework makes the model. Tables in arguments that have a ``callable`` are built first."""

    callable: Annotated[str, about("'module.attribute' of an installed module, or 'file.py:name' beside this file")]
    positional: Annotated[tuple[Any, ...], about("positional arguments")] = ()
    arguments: Annotated[dict[str, Any], about("keyword arguments")] = field(default_factory=dict)
    none: Annotated[Texts, about("keyword arguments that are None, which TOML cannot say")] = ()
    children: Annotated[tuple[Any, ...], about("what is given to add() of the result, one by one")] = ()
    attribute: Annotated[bool, about("take the object itself, without calling it")] = False
    layout: Annotated[str, about("the layout that this framework takes, for the inputs that have one")] = ""
    takes: Annotated[Literal["list"] | None, about("list: the model takes a list of images")] = None
    select: Annotated[tuple[str | int, ...], about("the outputs that count, by key or index, in this order")] = ()


class TrainingFile(Record, frozen=True):
    """How the model is trained; without it its weights are generated from the seed."""

    frameworks: Annotated[Texts, about("frameworks that it is trained in")]
    epochs: Annotated[int, about("passes over the training images", ge=1)]
    batch: Annotated[int, about("images per step", ge=1)]
    rate: Annotated[float, about("learning rate", gt=0)]
    labels: Annotated[
        Literal["classes", "boxes"], about("what it learns: a class for each input, or boxes (suppression = 'outside')")
    ] = "classes"


class ModelFile(Record, frozen=True):
    """An architecture with a name, its inputs, and one constructor per framework."""

    name: Annotated[str, about("what --models calls it", pattern=r"^[A-Za-z0-9_.+-]+$")]
    family: Annotated[str, about("the kind of network, such as mlp, cnn, rnn or transformer")]
    task: Annotated[str, about("what it is for; detections and instances are compared by matching")]
    inputs: Annotated[tuple[InputSpec, ...], about("its inputs, in order")]
    title: Annotated[str, about("what grids call it (default: its name)")] = ""
    application: Annotated[str, about("what it is used for, in a few words")] = ""
    parameters: Annotated[int, about("how many parameters it has", ge=0)] = 0
    source: Annotated[str, about("where it is published")] = ""
    profiles: Annotated[tuple[Profile, ...], about("profiles that run it")] = ("full",)
    compiled: Annotated[
        tuple[Profile, ...] | None, about("profiles that run it in compilers (default: those of profiles)")
    ] = None
    outputs: Annotated[tuple[OutputFile, ...], about("its outputs, in order")] = ()
    symbols: Annotated[
        dict[str, tuple[Count, ...]], about("symbolic dimension -> its values; the first is the default")
    ] = field(default_factory=dict)
    constructors: Annotated[dict[str, ConstructorFile], about("framework -> how it makes the model")] = field(
        default_factory=dict
    )
    missing: Annotated[dict[str, str], about("why a framework has no constructor")] = field(default_factory=dict)
    samples: Annotated[int, about("inputs that are compared", ge=1)] = 16
    seconds: Annotated[
        float, about("seconds of processor time that a stage may take; 4 times as many on the clock", gt=0)
    ] = 300
    memory_gb: Annotated[float, about("memory that a cell takes at most, in GiB", gt=0)] = 2
    suppression: Annotated[
        Literal["inside", "outside"],
        about(
            "of a detector, where overlapping boxes are dropped: inside, so that its outputs are detections, or "
            "outside: its outputs are the boxes [N, places, 4] and the scores [N, places, classes] of every place"
        ),
    ] = "inside"
    dataset: Annotated[str, about("the dataset that it is trained and judged on")] = ""
    training: Annotated[TrainingFile | None, about("how it is trained")] = None
    files: Annotated[
        Texts, about("files whose content results depend on, relative to this file; globs and folders may be")
    ] = ()
    environment: Annotated[Texts, about("environment variables whose values results depend on")] = ()
    notes: Annotated[str, about("remarks for readers")] = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a symbolic dimension without values."""
        for spec in self.inputs:
            for dim in spec.shape:
                if isinstance(dim, str) and dim not in self.symbols:
                    raise ValueError(f"inputs: dimension {dim!r} has no values; add them under [symbols]")
