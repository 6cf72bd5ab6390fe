"""Which inputs the tensors in front of layers are, and why that is not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench_plugin.pipeline.array_sets import identified
from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks import layer_tasks
from bench_plugin.pipeline.tasks.subjects import InputSet

X, M = (np.arange(6, dtype=np.float32).reshape(3, 2) + shift for shift in (0, 10))


def sources(given: list[dict[str, Any]], exposed: dict[str, Any], **inputs: Any) -> Any:
    rebuilt = Done(failure=None, meta={"rebuild": {"given": given, "results": [{"output": 9}]}})
    named = {f"in:{name}": values for name, values in inputs.items()}
    return layer_tasks.sources(rebuilt, exposed, InputSet(identified(("test",), lambda: named), {}, batched=False))


def test_each_tensor_that_no_layer_makes_is_the_input_with_its_values() -> None:
    given = [{"name": "a", "output": 0, "layer": ""}, {"name": "b", "output": 1, "layer": ""}]
    made = {"name": "c", "output": 9, "layer": "ADD"}
    assert sources([*given, made], {"out0": M, "out1": X}, x=X, m=M) == {"a": "m", "b": "x"}


def test_the_only_tensor_is_the_only_input_whatever_the_tool_makes_of_its_values() -> None:
    assert sources([{"name": "a", "output": 0, "layer": ""}], {"out0": X + 1}, x=X) == {"a": "x"}


def test_what_was_not_read_back_is_named() -> None:
    row = {"name": "a", "output": 0, "layer": "LSTMSequence"}
    said = "what {} makes in front of its layers was not read back"
    assert sources([row], {"out0": X + 1}, x=X, m=M) == said.format("LSTMSequence")
    assert sources([{**row, "layer": ""}], {"out0": X + 1}, x=X, m=M) == said.format("the tool")
    assert sources([], {}, x=X) == "its layers take no tensor at all"


def test_inputs_of_the_same_values_are_named() -> None:
    row = {"name": "a", "output": 0, "layer": ""}
    assert sources([row], {"out0": X}, x=X, m=X) == "its inputs x and m have the same values"
