"""The page of models: what each registered model is, and what it needs for one input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.needs import Layer, Needs, intensity, needs
from bench_plugin.inventory.models import Model

LARGEST = 5  # layers that are listed
BITS = (32, 16, 8, 4)
COMMAND = "bench needs all --page docs/models.md"
HEAD = """\
# Models

This page is written by `{command}`; do not edit it.

Every registered model with what it needs for one input, counted from the ONNX file that PyTorch exports (or the first
framework that has the model); [needs.md](needs.md) says how it is counted. Operations are those of convolutions and
fully connected layers without biases, a multiply-add is two. Sizes at fewer bits are those of floating-point elements
stored so. torchvision's ResNet50 is version 1.5.

| model | family | task | operations | other operations | weights | constants |
|---|---|---|---|---|---|---|
"""


def models_page(models: Sequence[tuple[Model, Facts]]) -> str:
    """The page as Markdown."""
    counted = [(model, facts, needs(facts)) for model, facts in models]
    lines = [HEAD.format(command=COMMAND).rstrip()]
    for model, _, found in counted:
        at_least = "at least " if found.lower_bound else ""
        lines.append(
            f"| [{model.title}](#{_anchor(model.title)}) | {model.family} | {model.task} | "
            f"{at_least}{found.operations:,} | {at_least}{found.other_operations:,} | {found.weights:,} | "
            f"{found.parameters:,} |"
        )
    for model, facts, found in counted:
        lines += ["", *_section(model, facts, found)]
    return "\n".join(lines) + "\n"


def _section(model: Model, facts: Facts, found: Needs) -> Iterator[str]:
    yield f"## {model.title}"
    yield ""
    yield f"`{model.name}`: {model.application or model.task}." + (
        f" Published: <{model.source}>." if model.source else ""
    )
    if model.notes:
        yield ""
        yield model.notes
    yield ""
    yield f"Other operations: {_kinds(found.by_kind)}."
    if found.not_counted:
        named = "; ".join(f"{count} x {reason}" for reason, count in found.not_counted.items())
        yield f"Not counted, so that these are lower bounds: {named}."
    yield ""
    yield "| bits of an element | constants | tensors between layers | alive at once | operations per byte of weights |"
    yield "|---|---|---|---|---|"
    for bits in BITS:
        stored = needs(facts, bits=bits)
        memory = stored.memory
        per_byte = next(iter(intensity(stored).values()), None)
        yield (
            f"| {bits} | {memory.weights:,} B | {memory.tensors:,} B | {memory.alive:,} B | "
            f"{'' if per_byte is None else format(per_byte, '.4g')} |"
        )
    if largest := sorted((one for one in found.layers if one.operations), key=_size, reverse=True)[:LARGEST]:
        yield ""
        yield "| largest layers | operator | output | operations | share | weights |"
        yield "|---|---|---|---|---|---|"
        for one in largest:
            shape = " x ".join("?" if size is None else str(size) for size in one.shape or ())
            share = f"{100 * one.operations / found.operations:.1f} %"
            name = _escaped(one.name)
            yield f"| {name} | {one.operator} | {shape} | {one.operations:,} | {share} | {one.weights:,} |"


def _size(one: Layer) -> int:
    return one.operations


def _kinds(by_kind: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in by_kind.items()) or "none"


def _escaped(name: str) -> str:
    return name.replace("_", "\\_").replace("|", "\\|").replace("*", "\\*")


def _anchor(title: str) -> str:
    return "".join(one for one in title.lower().replace(" ", "-") if one.isalnum() or one in "-_")
