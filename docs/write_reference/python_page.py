"""docs/python.md: the Python that users touch, from its docstrings: fixtures, markers, outcomes, tools, protocols."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

from wording import prose

from bench_plugin import plugin
from bench_plugin.fixtures.marked_cells import MARKERS

HEAD = """\
# Python

This page is made from docstrings: `python docs/write_reference`. [Your own models, compilers, frameworks and
tests](your-own.md) shows all of it at work; what an adapter is called with and gives back is [the
contract](contract.md). Arrays are numpy's, [N, ...] over N samples; times are seconds.
"""
FIXTURES = ("bench_cell", "bench_outcome", "deployed", "timing", "device_benchmark")
# What the fixtures give: module and names.
GIVEN = (
    ("bench_plugin.fixtures.cell", ("BenchCell",)),
    ("bench_plugin.domain.cell", ("Cell",)),
    ("bench_plugin.domain.outcome", ("Outcome",)),
    ("bench_plugin.session.deployed", ("Deployed", "NotDeployed")),
    ("bench_plugin.fixtures.performance", ("Timing",)),
    (
        "bench_plugin.session.measured",
        ("Measured", "Figures", "Seconds", "Interval", "NotMeasured", "EmulatedLatency"),
    ),
    ("bench_plugin.fixtures.benchmark_clock", ("DeviceBenchmark",)),
)
WORDS = (("bench_plugin.domain.outcome", ("Status", "Stage", "Symptom", "Unverified")),)
# What adapters import; all that is public in each.
FOR_ADAPTERS = (
    "bench_plugin.agent.adapter",
    "bench_plugin.agent.toolkit.samples",
    "bench_plugin.agent.toolkit.versions",
    "bench_plugin.agent.toolkit.conditioning",
    "bench_plugin.agent.toolkit.rebuilding",
)
PROTOCOLS = (
    ("bench_plugin.checks.protocol", ("Checker",)),
    ("bench_plugin.checks.registry", ("CheckModule", "PlanModule")),
    ("bench_plugin.matrix.planner", ("Planner",)),
    ("bench_plugin.reach.boards.registry", ("ReachModule",)),
    ("bench_plugin.reach.boards.reach", ("Reach",)),
    ("bench_plugin.report.pages.page", ("PageModule",)),
    ("bench_plugin.cli.main", ("Subcommand",)),
)


def page() -> str:
    """The page as Markdown."""
    return "".join([HEAD, *_fixtures(), *_markers(), *_rest()])


def _fixtures() -> Iterator[str]:
    yield "\n## Fixtures\n"
    for name in FIXTURES:
        yield f"\n### {name}\n\n{_text(getattr(plugin, name))}\n"


def _markers() -> Iterator[str]:
    yield "\n## Markers\n"
    for marker in MARKERS:
        form, _, text = marker.partition(": ")
        yield f"\n### {form.partition('(')[0]}\n\n`@pytest.mark.{form}`\n\n{text[:1].upper()}{text[1:].rstrip('.')}.\n"


def _rest() -> Iterator[str]:
    yield "\n## What fixtures give\n"
    for module, names in GIVEN:
        for name in names:
            yield from _thing(module, name)
    yield '\n## Words of an outcome\n\nEach is a text of its own: `outcome.status == "supported"`.\n'
    for module, names in WORDS:
        for name in names:
            yield from _thing(module, name)
    yield "\n## For adapters\n"
    for module in FOR_ADAPTERS:
        loaded = importlib.import_module(module)
        yield f"\n### {module.removeprefix('bench_plugin.')}\n\n{_text(loaded)}\n"
        for name, value in vars(loaded).items():
            if getattr(value, "__module__", "") == module and not name.startswith("_") and inspect.getdoc(value):
                yield from _thing(module, name, level="####")
    yield (
        "\n## Protocols\n\nWhat a part that is added to the project must have; [the architecture](architecture.md)"
        " says where each is registered. Those of adapters are in [the contract](contract.md).\n"
    )
    for module, names in PROTOCOLS:
        for name in names:
            yield from _thing(module, name)


def _thing(module: str, name: str, *, level: str = "###") -> Iterator[str]:
    """A class with its public members, or a function."""
    value = getattr(importlib.import_module(module), name)
    form = f"{module}.{name}" + ("" if inspect.isclass(value) else _signature(value))
    yield f"\n{level} {name}\n\n`{form}`\n\n{_text(value)}\n"
    if inspect.isclass(value) and issubclass(value, Enum):
        yield "\nIts values: " + ", ".join(f"`{one.value}`" for one in value) + ".\n"
    elif inspect.isclass(value) and (members := [*_members(value)]):
        yield "\n" + "".join(f"- {line}\n" for line in members)


def _members(kind: type) -> Iterator[str]:
    """Fields, then properties and methods with a docstring."""
    if dataclasses.is_dataclass(kind):
        fields = [one.name for one in dataclasses.fields(kind)]
    else:
        fields = [name for name in inspect.get_annotations(kind) if name not in vars(kind)]
    if shown := [f"`{name}`" for name in fields if not name.startswith("_")]:
        yield f"fields: {', '.join(shown)}"
    for name, value in vars(kind).items():
        called = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(value, property):
            yield f"`{name}`: {_line(value)}"
        elif inspect.isfunction(called) and called.__doc__:
            yield f"`{name.replace('__call__', '')}{_signature(called)}`: {_line(called)}"


def _signature(function: Any) -> str:
    """The parameters of a function, without the first one of a method, and what it returns."""
    signature = inspect.signature(function)
    kept = [one for name, one in signature.parameters.items() if name not in ("self", "cls")]
    plain = [one.replace(annotation=_Plain(one.annotation)) for one in kept if one.annotation is not one.empty]
    given = plain if len(plain) == len(kept) else kept
    return str(signature.replace(parameters=given, return_annotation=_Plain(signature.return_annotation)))


class _Plain:
    """An annotation that prints without the quotes of a text, in which the code has it."""

    def __init__(self, annotation: object) -> None:
        self._text = str(annotation).strip("'\"")

    def __repr__(self) -> str:
        return self._text


def _text(documented: Any) -> str:
    return prose(inspect.getdoc(documented) or "")


def _line(documented: Any) -> str:
    return " ".join(_text(documented).split())
