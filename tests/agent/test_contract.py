"""Call records: read from metadata, refused where they are wrong, the same again when they are written."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import (
    OPERATIONS,
    Call,
    CompileCall,
    EvaluateCall,
    ExportCall,
    ExtractCall,
    Malformed,
    Place,
    ReferenceCall,
    RunCall,
    Target,
    TrainCall,
    named_arrays,
    record_of,
)
from bench_plugin.agent.contract.describe import describe, documented
from bench_plugin.agent.contract.records import fields_of

CALLS = {name: record_of(name) for name in OPERATIONS}
PORT = {"name": "x", "dtype": "float32", "shape": ["batch", 3], "layout": "NC"}
MODEL = {
    "name": "mlp", "spec": {"callable": "a.b", "positional": [1, {"null": True}]}, "source_name": "", "source": "",
    "inputs": [PORT], "outputs": [{"name": "y"}], "detections": False, "binding": {"batch": 1}, "weights": {},
}  # fmt: skip
OF_MODEL = {"model": MODEL, "seed": 7, "batched": True}
COMPILED = {
    "precision": "w8a8", "graph": "qdq", "target": {"name": "aarch64", "triple": "aarch64-linux", "flags": ["-a"]},
    "backend": "cpu", "options": {"level": "O2"}, "threads": 3, "inputs": [PORT], "outputs": [{"name": "y"}],
    "batched": True, "binding": {"batch": 1}, "calibration_method": "minmax",
}  # fmt: skip
DESCRIPTION = {
    "path": "a.toml", "command": [["tool", "{model}"], ["cc"]], "artefact": ["*.so"], "timeout": 3,
    "precisions": {"fp32": ["original"]}, "errors": [{"pattern": "a", "symptom": "unsupported"}],
    "runner": {"command": ["run"]}, "version": {"command": ["tool"], "pattern": "."},
}  # fmt: skip
GRAPH = {
    "opset": 20, "ir": 9,
    "nodes": [{"operator": "Add", "inputs": ["a", "b"], "outputs": ["c"], "attributes": {"k": 1}}],
    "sources": [{"name": "a", "dtype": "float32", "shape": [2], "constant": False}],
    "outputs": [{"name": "c", "dtype": "float32", "shape": [2]}],
}  # fmt: skip
SEGMENT = {"nodes": [0, 1], "given": {"a": "a_given"}, "fixed": {}, "outputs": ["b"]}

# Metadata as the host sends it, by operation.
SENT: dict[str, dict[str, Any]] = {
    "reference": {**OF_MODEL, "noise_samples": 4},
    "export": {**OF_MODEL, "exporter": "dynamo", "opset": 20, "dynamic": False},
    "import_model": {"importer": "onnx2torch", "inputs": [PORT], "batched": False},
    "run_imported": {"batched": False, "ragged": True, "whole": True},
    "compile": {**COMPILED, "description": DESCRIPTION},
    "run": {**COMPILED, **OF_MODEL, "ragged": False, "whole": True, "values": {"x": [{"d": "str", "s": [1], "o": 0}]}},
    "time": {**COMPILED, "sampled": 8, "blocks": 4, "block_seconds": 0.5, "block_samples": 9, "seconds": 3.0},
    "fetch": {},
    "train": {**OF_MODEL, "training": {"frameworks": ["pytorch"], "epochs": 3, "batch": 16, "rate": 1e-3}},
    "check": {},
    "facts": {"batch": 2, "sizes": {"steps": 16}},
    "evaluate": {"batched": False, "ragged": False, "perturb": None, "samples": 2},
    "mutate": {"batched": True, "samples": 2},
    "emulate": {"batched": True, "samples": 4},
    "prepare": {"graph": "qdq", "batched": True, "calibration_method": "entropy"},
    "layers": {"binding": {"batch": 1}},
    "rebuild": {**COMPILED, "precision": "w8a8", "graph": "original"},
    "assemble": {"nodes": [{"operator": "Relu"}], "given": ["x"], "results": ["y"]},
    "match": {"names": ["w", "b"], "weights": {"b": "w"}},
    "mutate_layers": {"samples": 4},
    "open": {"binding": None},
    "extract": {"segments": [SEGMENT], "types": {"a_given": ["float32", [2, 3]]}},
    "shrink": {"size": 64, "to": 2},
    "collect": {},
    "convert": {"opset": 17, "ir": 8, "cases": ["test_abs"]},
    "build": {"graph": GRAPH, "need": "sum"},
}
# One field of each call that has any, and a value that is not of its type.
WRONG: dict[str, tuple[str, Any, str]] = {
    "reference": ("noise_samples", "4", "int"),
    "export": ("dynamic", 1, "bool"),
    "import_model": ("importer", None, "str"),
    "run_imported": ("batched", "yes", "bool"),
    "compile": ("target", "local", "Target"),
    "run": ("threads", True, "int"),
    "time": ("seconds", "3", "float"),
    "train": ("training", [], "Training"),
    "facts": ("sizes", {"steps": "16"}, "int"),
    "evaluate": ("perturb", 1.5, "int or null"),
    "mutate": ("samples", None, "int"),
    "emulate": ("batched", None, "bool"),
    "prepare": ("graph", 3, "str"),
    "layers": ("binding", {"batch": "one"}, "int"),
    "rebuild": ("threads", "two", "int"),
    "assemble": ("results", "y", "list of str"),
    "match": ("names", "w", "list of str"),
    "mutate_layers": ("samples", 4.5, "int"),
    "open": ("binding", [], "object of int or null"),
    "extract": ("types", {"a": ["float32"]}, "list of (str and list of int)"),
    "shrink": ("to", 2.0, "int"),
    "convert": ("cases", "test_abs", "list of str"),
    "build": ("graph", None, "GeneratedGraph"),
}


@pytest.mark.parametrize("operation", sorted(CALLS))
def test_what_is_written_is_what_was_read(operation: str) -> None:
    record = CALLS[operation].read(SENT[operation], operation)
    meta = record.meta()
    assert CALLS[operation].read(json.loads(json.dumps(meta)), operation) == record
    for key, value in SENT[operation].items():
        if not isinstance(value, (dict, list)) and value is not None:
            assert meta[key] == value


@pytest.mark.parametrize("operation", sorted(CALLS))
def test_a_missing_field_is_named_with_what_was_expected(operation: str) -> None:
    for field in fields_of(CALLS[operation]):
        if not field.optional:
            meta = {key: value for key, value in SENT[operation].items() if key != field.key}
            with pytest.raises(Malformed, match=rf"^{operation}: field '{field.key}' is missing; expected \w"):
                CALLS[operation].read(meta, operation)


@pytest.mark.parametrize("operation", sorted(WRONG))
def test_a_field_of_another_type_is_named_with_what_was_expected(operation: str) -> None:
    key, value, expected = WRONG[operation]
    with pytest.raises(Malformed) as raised:
        CALLS[operation].read({**SENT[operation], key: value}, operation)
    assert str(raised.value).startswith(f"{operation}: field '{key}'")
    assert str(raised.value).endswith(f"; expected {expected}")


def test_every_call_with_fields_is_tried_with_a_wrong_one() -> None:
    assert set(SENT) == set(CALLS)
    assert set(WRONG) == {name for name, kind in CALLS.items() if fields_of(kind)}


def test_a_wrong_field_within_a_field_is_found() -> None:
    wrong = {**COMPILED, "inputs": [PORT, {**PORT, "shape": [1.5]}]}
    with pytest.raises(Malformed) as raised:
        RunCall.read(wrong, "run")
    said = "run: field 'inputs'[1]: field 'shape'[0] is 1.5; expected int or str"
    assert str(raised.value) == said
    with pytest.raises(Malformed, match="^run is 3; expected RunCall$"):
        RunCall.read(3, "run")


def test_the_wires_names_are_the_records_own_where_it_says_so() -> None:
    call = RunCall.read({"batched": True, "whole": True, "inputs": [PORT]}, "run")
    assert call.once and call.input_ports[0].shape == ("batch", 3)
    assert call.meta()["whole"] is True and call.meta()["inputs"][0]["name"] == "x"
    assert call.input_ports[0].bound({"batch": 2}) == (2, 3)


def test_what_is_left_out_has_its_default() -> None:
    call = RunCall.read({"batched": False}, "run")
    assert (call.threads, call.precision, call.graph) == (os.cpu_count(), "fp32", "original")
    assert call.target.is_local and call.option("level", "O2") == "O2" and call.model is None
    assert not Target("aarch64").is_local
    assert "model" not in call.meta()  # the host need not send what nothing is known of
    assert EvaluateCall(batched=True).meta() == {"batched": True, "ragged": False}


def at(call: Call, arrays: dict[str, Any], files: dict[str, str] | None = None) -> Any:
    sent = {name: from_numpy(values) for name, values in arrays.items()}
    return call.at(Place("/folder", files or {}, sent, lambda stage: None))


def test_arrays_come_by_the_names_of_inputs() -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    sent = {**named_arrays("in", {"b": x, "a": x + 1}), **named_arrays("alt", {"b": x + 2}), "labels": np.arange(3)}
    call = at(ReferenceCall.read(SENT["reference"], "reference"), sent)
    assert list(call.inputs) == ["b", "a"] and (call.second_binding["b"] == x + 2).all()
    assert list(call.named(["a", "c", "b"])) == ["a", "b"]
    assert [one.shape for one in call.example] == [(1, 2), (1, 2)]
    unbatched = at(ExportCall.read({**SENT["export"], "batched": False}, "export"), sent)
    assert [one.shape for one in unbatched.example] == [(2,), (2,)]
    assert (at(TrainCall.read(SENT["train"], "train"), sent).labels == np.arange(3)).all()
    with pytest.raises(Malformed, match="^train: array 'labels' is missing"):
        _ = at(TrainCall.read(SENT["train"], "train"), {}).labels
    fixed = at(ExtractCall.read(SENT["extract"], "extract"), {"fix:a": x})
    assert list(fixed.fixed) == ["a"] and not fixed.inputs


def test_calibration_and_the_model_of_a_compile_call() -> None:
    x = np.zeros((4, 3), dtype=np.float32)
    call = at(CompileCall.read({**SENT["compile"], **OF_MODEL}, "compile"), {"calib:x": x, "in:x": x[:1]})
    assert call.calibration["x"].shape == (4, 3) and list(call.inputs) == ["x"]
    reference = ReferenceCall.read(SENT["reference"], "reference")
    assert call.of_model.identity == reference.identity  # the same model, whatever is done with it
    assert call.of_model.identity != ReferenceCall.read({**SENT["reference"], "seed": 8}, "reference").identity
    with pytest.raises(Malformed, match="^compile: field 'model' is missing"):
        _ = CompileCall.read(SENT["compile"], "compile").of_model


def test_a_missing_file_is_named() -> None:
    call = at(CALLS["check"](), {}, {"other.onnx": "/a"})
    assert call.files["other.onnx"] == "/a" and call.path("b") == "/folder/b"
    with pytest.raises(Malformed, match=r"^file 'model.onnx' is missing; there are other.onnx$"):
        _ = call.files["model.onnx"]


def test_every_field_is_explained_and_the_contract_can_be_printed() -> None:
    parts = {field.kind for kind in CALLS.values() for field in fields_of(kind) if hasattr(field.kind, "read")}
    for kind in [*CALLS.values(), *parts]:
        missing = [field.name for field in fields_of(kind) if not documented(kind).get(field.name)]
        assert not missing, f"{kind.__name__} says nothing of {missing}"
    text = describe()
    for said in (
        "## Framework",
        "### RunCall",
        "| `once` | bool | optional |",
        "`def compile(self, call: CompileCall)",
    ):
        assert said in text
