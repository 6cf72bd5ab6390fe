"""What a reply lacks is named, for every operation of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench_plugin.agent.contract import OPERATIONS
from bench_plugin.agent.contract.records import Malformed
from bench_plugin.agent.contract.replies import REPLIES, check_reply

PORT = {"name": "x", "dtype": "float32", "shape": ["batch", 8]}
SHAPES = {"inputs": [PORT], "outputs": [PORT]}
WEIGHT = {"name": "w", "kind": "weight", "layer": "CONV_2D"}
REBUILT = {"nodes": [], "given": [], "results": [], "constants": [WEIGHT], "unread": []}
MATCHED = {"name": "w", "tensor": "conv.weight", "found": True, "folded": False, "steps": 0.5}
OPENED = {"nodes": [{}], "exposed": ["a"], "fixed": [], "inputs": [PORT], "outputs": ["y"], "types": {"a": "float32"}}
# operation -> the smallest reply that keeps its promise: metadata, arrays, files
WHOLE: dict[str, tuple[Mapping[str, Any], Sequence[str], Sequence[str]]] = {
    "reference": ({"truth": "float64"}, ["truth:y"], []),
    "export": ({}, [], ["model.onnx"]),
    "import_model": ({}, [], []),
    "run_imported": ({}, [], []),
    "compile": ({}, [], []),
    "run": ({"values": [{"d": "str", "s": [2], "o": 0}]}, ["value:0"], []),
    "time": ({"timing": {"median": 1.0}}, ["series:compute"], []),
    "fetch": ({}, ["x_train", "y_train", "x_test", "y_test"], []),
    "train": ({}, [], ["weights.npz"]),
    "check": ({"valid": True, "objection": "", **SHAPES}, [], []),
    "facts": ({"free": ["T"], "symbols": ["N", "T"]}, [], ["facts.json"]),
    "evaluate": ({}, [], []),
    "mutate": ({"samples": 4}, [], []),
    "emulate": ({"samples": 4}, [], []),
    "prepare": ({"output_scales": [0.5, None]}, [], ["model.onnx"]),
    "layers": ({"layers": ["a"], **SHAPES}, [], ["exposed.onnx", "layers.onnx", "unrounded.onnx"]),
    "rebuild": (REBUILT, ["const:w", "step:w"], []),
    "assemble": ({}, [], ["unrounded.onnx"]),
    "match": ({"matches": [MATCHED]}, ["file:w"], ["rebuilt.onnx"]),
    "mutate_layers": ({"samples": 4}, [], []),
    "open": (OPENED, [], ["bound.onnx", "exposed.onnx"]),
    "extract": (SHAPES, [], ["part.onnx"]),
    "shrink": (SHAPES, [], ["part.onnx"]),
    "collect": ({}, [], ["cases.json", "cases.bin"]),
    "convert": ({}, [], ["cases.json", "cases.bin"]),
    "build": ({}, [], ["model.onnx", "cases.json", "cases.bin", "truths.json", "truths.bin"]),
}
PARTS = [
    (operation, kind, key)
    for operation, whole in WHOLE.items()
    for kind, keys in zip(("field", "array", "file"), whole, strict=True)
    for key in keys
    if (kind, key) not in (("field", "values"), ("file", "truths.json"))
]


def test_every_operation_has_its_promise() -> None:
    assert set(REPLIES) == set(OPERATIONS) == set(WHOLE)


@pytest.mark.parametrize("operation", WHOLE)
def test_a_reply_that_keeps_its_promise_is_taken(operation: str) -> None:
    check_reply("mine", operation, *WHOLE[operation])


@pytest.mark.parametrize(("operation", "kind", "key"), PARTS)
def test_what_is_missing_is_named(operation: str, kind: str, key: str) -> None:
    meta, arrays, files = WHOLE[operation]
    left = [name for name in (arrays if kind == "array" else files) if name != key]
    with pytest.raises(Malformed) as caught:
        check_reply(
            "mine", operation, {name: value for name, value in meta.items() if (kind, name) != ("field", key)},
            left if kind == "array" else arrays, left if kind == "file" else files,
        )  # fmt: skip
    assert f"the reply of adapter mine to {operation}: " in str(caught.value)
    assert "missing" in str(caught.value) and key.partition(":")[0] in str(caught.value)


@pytest.mark.parametrize(
    ("operation", "meta", "arrays", "message"),
    [
        ("run", {}, ["out1"], "array 'out0' is missing; the reply has 'out1'"),
        ("run", {}, ["out"], "array 'out' is no output; outputs are named out0, out1 ..."),
        ("run", {}, ["out01"], "array 'out01' is no output"),
        ("run", {"placement": [1]}, ["out0"], r"field 'placement' is \[1\]; expected object of anything"),
        ("run", {"values": [{"d": "str", "s": [-1], "o": 0}]}, ["value:0"], "expected sizes of at least 0"),
        ("run", {"values": [[{"d": "str", "s": [1], "o": 3}]]}, ["value:0"], r"\[0\]\[0\]: array 'value:3' is missing"),
        ("run", {"values": [7]}, [], r"field 'values'\[0\] is 7; expected TensorDescription"),
        ("compile", {"effective": ["fp32"]}, [], r"field 'effective' is \['fp32'\]; expected str"),
        ("check", {**WHOLE["check"][0], "inputs": {}}, [], r"field 'inputs' is \{\}; expected list of DeclaredPort"),
        ("prepare", {"output_scales": ["x"]}, [], r"field 'output_scales'\[0\] is 'x'; expected float or null"),
    ],
)
def test_what_is_of_another_kind_is_named(
    operation: str, meta: Mapping[str, Any], arrays: Sequence[str], message: str
) -> None:
    with pytest.raises(Malformed, match=message):
        check_reply("mine", operation, meta, arrays, ["model.onnx"])


def test_an_operation_of_an_adapter_s_own_promises_nothing() -> None:
    check_reply("mine", "go", {}, [], [])
    with pytest.raises(Malformed, match=r"adapter onnx_truths to evaluate: file 'truths\.json' is missing"):
        check_reply("onnx_truths", "evaluate", {}, [], [])
