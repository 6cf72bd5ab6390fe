"""Models as declarations: callables with arguments, nested."""

from __future__ import annotations

import datetime
import fractions
import types
from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.agent.adapter import InvalidModel
from bench_plugin.agent.contract import ModelDescription
from bench_plugin.agent.toolkit import construct


def build(spec: Mapping[str, Any], source: str = "") -> object:
    return construct.build(ModelDescription(spec, source=source, source_name="own.py"))


def test_callables_with_arguments_nested() -> None:
    spec = {
        "callable": "fractions.Fraction",
        "positional": [{"callable": "fractions.Fraction", "positional": [1, 2]}, 3],
    }
    assert build(spec) == fractions.Fraction(1, 6)


def test_keywords_that_are_none_and_null_inside() -> None:
    made = build({"callable": "types.SimpleNamespace", "arguments": {"a": [1, {"null": True}]}, "none": ["b"]})
    assert made == types.SimpleNamespace(a=[1, None], b=None)


def test_attributes_and_methods_of_classes() -> None:
    assert build({"callable": "fractions.Fraction", "attribute": True}) is fractions.Fraction
    assert build({"callable": "datetime.date.fromordinal", "positional": [1]}) == datetime.date(1, 1, 1)


def test_children_are_added() -> None:
    assert build({"callable": "builtins.set", "children": [1, 2]}) == {1, 2}


def test_a_file_of_the_models_own() -> None:
    assert build({"callable": "own.py:make", "arguments": {"n": 2}}, "def make(n):\n    return n * 2\n") == 4


@pytest.mark.parametrize("name", ["fractions.Nothing", "no_such_module.thing", "own.py:missing", "plain"])
def test_what_does_not_exist_is_an_invalid_model(name: str) -> None:
    with pytest.raises(InvalidModel, match=r"does not exist|defines no"):
        build({"callable": name}, "x = 1")


@pytest.mark.parametrize("source", ["place = __file__\ndef make(): pass", "def make():\n    return open(__file__)"])
def test_a_file_that_asks_where_it_lies_is_told_why_it_cannot(source: str) -> None:
    with pytest.raises(InvalidModel, match="own.py uses __file__, which it does not have: it is run from its text"):
        build({"callable": "own.py:make"}, source)
    with pytest.raises(NameError, match="'other'"):
        build({"callable": "own.py:make"}, "def make():\n    return other")
