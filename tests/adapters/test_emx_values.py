"""emx's C functions of strings, sequences and optional values: what goes in and what comes out."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.c_code import emx_values
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.packs import blobs_of
from tests.adapters.real import Answer, answered, written

NORMALISED = """
<ir_version: 10, opset_import: ["": 25]> g (string[3] x) => (string[2] y)
{ y = StringNormalizer <case_change_action = "NONE", stopwords = ["b"]> (x) }
"""
LENGTH = '<ir_version: 8, opset_import: ["": 17]> g (seq(float[2]) x) => (int64 n) { n = SequenceLength(x) }'
LAST = """
<ir_version: 8, opset_import: ["": 17]> g (seq(float[2]) x) => (float[2] y) <int64 last = {-1}>
{ y = SequenceAt(x, last) }
"""
PARTS = """
<ir_version: 8, opset_import: ["": 17]> g (float[2,5] x) => (seq(float[2,m]) y) <int64 two = {2}>
{ y = SplitToSequence <axis = 1> (x, two) }
"""
PRESENT = """
<ir_version: 8, opset_import: ["": 18]> g (optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }
"""


def asked(folder: Path, text: str, value: Any, output: tuple[str, str, Sequence[int]]) -> Answer:
    """What emx makes of a model whose input x has this value."""
    (described,), blobs = blobs_of([value])
    model = written(text, folder / "model.onnx")
    return answered(
        "emx", model, {}, [output], folder / "made", values={"x": described}, blobs=list(blobs.values())
    )  # fmt: skip


def texts(answer: Answer, number: int = 0) -> list[str]:
    """The strings of a blob."""
    return list(json.loads(bytes(answer.outputs[f"value:{number}"][2])))


def test_strings_go_in_and_come_out(tmp_path: Path) -> None:
    x = np.array(["ä", "b", "cd"], dtype=object)
    answer = asked(tmp_path, NORMALISED, x, ("y", "str", (2,)))
    assert answer.run["values"] == [{"d": "str", "s": [2], "o": 0}], answer.error
    assert texts(answer) == ["ä", "cd"]


@pytest.mark.parametrize(("size", "refused"), [(255, False), (256, True)])
def test_a_string_that_has_no_room_is_refused(tmp_path: Path, size: int, refused: bool) -> None:
    x = np.array(["é" * (size // 2) + "e" * (size % 2), "b", "c"], dtype=object)
    answer = asked(tmp_path, NORMALISED, x, ("y", "str", (2,)))
    if refused:
        assert answer.symptom == "unsupported"
        assert answer.error.endswith("x has a string of 256 bytes, emx's C has room for 255")
    else:
        assert texts(answer) == [x[0], "c"], answer.error


@pytest.mark.parametrize("length", [0, 3, 32])
def test_a_sequence_goes_in_with_its_length(tmp_path: Path, length: int) -> None:
    s = [np.array([number, 0.5], np.float32) for number in range(length)]
    answer = asked(tmp_path, LENGTH, s, ("n", "int64", ()))
    assert answer.outputs["out0"] == ["int64", [], length], answer.error


def test_a_sequence_that_has_no_room_is_refused(tmp_path: Path) -> None:
    answer = asked(tmp_path, LENGTH, [np.zeros(2, np.float32)] * 33, ("n", "int64", ()))
    assert answer.symptom == "unsupported"
    assert answer.error.endswith("x has 33 elements, emx's C has room for 32")


def test_elements_of_a_sequence_go_in_where_c_reads_them(tmp_path: Path) -> None:
    answer = asked(tmp_path, LAST, [np.array([n, -n], np.float32) for n in range(3)], ("y", "float32", (2,)))
    assert answer.outputs["out0"] == ["float32", [2], [2.0, -2.0]], answer.error


def test_an_element_of_another_shape_is_told(tmp_path: Path) -> None:
    answer = asked(tmp_path, LAST, [np.zeros(3, np.float32)], ("y", "float32", (2,)))
    assert answer.error.endswith("input x has the shape [3], it was compiled for [2]")


def test_elements_of_different_sizes_come_out(tmp_path: Path) -> None:
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    answer = asked(tmp_path, PARTS, x, ("y", "sequence", ()))
    assert [row["s"] for row in answer.run["values"][0]] == [[2, 2], [2, 2], [2, 1]], answer.error
    found = [np.frombuffer(bytes(answer.outputs[f"value:{n}"][2]), np.float32).tolist() for n in range(3)]
    assert found == [[0, 1, 5, 6], [2, 3, 7, 8], [4, 9]]


@pytest.mark.parametrize("value", [None, np.zeros(2, np.float32)], ids=["absent", "present"])
def test_an_optional_value_goes_in_with_its_flag(tmp_path: Path, value: Any) -> None:
    answer = asked(tmp_path, PRESENT, value, ("y", "bool", ()))
    assert answer.outputs["out0"] == ["bool", [], value is not None], answer.error


CODE = "#define EMX_STRING_MAX_LEN 8\n#define EMX_SEQUENCE_MAX_LEN 4\nvoid model(%s) {\n"
TYPES = {"float": "float32", "int64_t": "int64"}
RAGGED = "float y[EMX_SEQUENCE_MAX_LEN][3], idx_t *y__count, idx_t y__dim_0[EMX_SEQUENCE_MAX_LEN], _Bool *y_present"


def outputs(takes: str, write: Callable[..., None], declared: Sequence[int] = ()) -> list[Any]:
    """What is read after a call of a function that takes only outputs, which ``write`` may fill as C would."""
    rows = emx_values.parameters(CODE % takes, "model", iter(()), iter(["y"]), TYPES)
    return emx_values.called(write, rows, {}, [declared], TYPES)


def test_an_optional_result_may_be_absent() -> None:
    def write(y: Any, count: Any, dims: Any, present: Any) -> None:
        present._obj.value = False

    assert outputs(RAGGED, write) == [None]


@pytest.mark.parametrize(("count", "size", "told"), [
    (None, None, "y has -1 elements, its room 4"), (5, None, "y has 5 elements, its room 4"),
    (1, None, r"element 0 of y has the sizes \[-1\]"), (1, 4, r"element 0 of y has the sizes \[4\]"),
])  # fmt: skip
def test_a_length_that_was_not_written_or_has_no_room_is_told(count: int | None, size: int | None, told: str) -> None:
    def write(y: Any, length: Any, dims: Any, present: Any) -> None:
        if count is not None:
            length._obj.value = count
        if size is not None:
            ctypes.c_int32.from_address(dims.value).value = size

    with pytest.raises(ValueError, match=told):
        outputs(RAGGED, write)


def test_what_was_not_written_is_no_text_and_no_number() -> None:
    (text,) = outputs("char y[restrict 2][EMX_STRING_MAX_LEN]", lambda y: None, (2,))
    assert text.tolist() == ["\ufffd" * 8] * 2
    (number,) = outputs("float y[restrict 2]", lambda y: None, (2,))
    assert np.isnan(number).all()


def test_an_empty_result_has_its_declared_shape() -> None:
    (found,) = outputs("char y[restrict 1][EMX_STRING_MAX_LEN]", lambda y: None, (0, 3))
    assert found.shape == (0, 3)


@pytest.mark.parametrize(("code", "told"), [
    (CODE.replace("model", "other") % "float y[restrict 1]", "the generated C has no function model"),
    (CODE % "void", "the C function has no parameter for y"),
    ("void model(float y[EMX_SEQUENCE_MAX_LEN][3], idx_t *y__count) {\n", "does not define EMX_SEQUENCE_MAX_LEN"),
])  # fmt: skip
def test_code_that_does_not_fit_is_told(code: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        emx_values.parameters(code, "model", iter(()), iter(["y"]), TYPES)


@pytest.mark.parametrize("parameter", ["int n", "float y[restrict n]", "__bf16 y[restrict 2]", "idx_t z__count"])
def test_a_parameter_that_cannot_be_handed_over_is_refused(parameter: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(f"the C parameter '{parameter}' cannot be handed over")):
        emx_values.parameters(CODE % parameter, "model", iter(()), iter(["y"]), TYPES)
