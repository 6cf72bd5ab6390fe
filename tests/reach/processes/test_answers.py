"""The metadata of any frame becomes plain data of bounded size, or an error that names the field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_plugin.agent.contract.records import Malformed
from bench_plugin.domain.outcome import Symptom
from bench_plugin.reach.processes import answers

WHERE = "the reply of adapter mine to run"
RIGHT: dict[str, Any] = {
    "meta": {"a": 1}, "arrays": ["out0"], "files": {"model.onnx": "/folder/model.onnx"}, "seconds": {"run": 0.5},
    "peak": 7,
}  # fmt: skip
texts = st.text() | st.sampled_from(["\ud800", "\0", "..", "a/../b", "/", "x" * 300])
plain = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
frames = st.fixed_dictionaries(
    {},
    optional={
        "meta": st.dictionaries(texts, values, max_size=3) | values, "arrays": st.lists(texts, max_size=3) | values,
        "files": st.dictionaries(texts, texts, max_size=3) | values,
        "seconds": st.dictionaries(texts, st.floats() | st.integers(), max_size=3) | values,
        "peak": st.integers() | values, "symptom": texts | values, "message": texts | values, "detail": texts | values,
        "types": st.lists(texts, max_size=3) | values, "stage": texts | values,
    },
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(frame=frames, blobs=st.integers(0, 3))
def test_any_result_is_plain_data_or_one_typed_error(frame: dict[str, Any], blobs: int) -> None:
    try:
        result = answers.call_result(frame, blobs, WHERE)
    except Malformed as error:
        assert str(error).startswith(WHERE)
        return
    json.dumps([result.said, dict(result.seconds), result.peak], allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert len(result.arrays) == len(set(result.arrays)) == blobs
    for name in result.files:
        assert ".." not in name.split("/") and len(name.encode()) <= 200 and not name.startswith("/")


@settings(max_examples=300, deadline=None)
@given(frame=frames)
def test_any_error_has_a_known_symptom_and_texts(frame: dict[str, Any]) -> None:
    said = answers.reported(frame)
    assert said.symptom in set(Symptom) - {Symptom.MISMATCH, Symptom.BOARD_LOST}
    for text in (said.message, said.detail, said.stage, *said.types):
        text.encode("utf-8")


def test_a_right_result_is_taken_as_it_is() -> None:
    result = answers.call_result(RIGHT, 1, WHERE)
    assert (result.said, result.arrays, result.files) == (RIGHT["meta"], ("out0",), RIGHT["files"])
    assert (result.seconds, result.peak) == ({"run": 0.5}, 7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arrays": ["a", "a"]}, "field 'arrays' has 'a' twice"),
        ({"arrays": []}, "field 'arrays' names 0 arrays; the frame has 1"),
        ({"arrays": [""]}, r"field 'arrays'\[0\] has the name '' of 0 characters; expected 1 to 4096"),
        ({"files": {"a": "/f/x", "b": "/f/./x"}}, "field 'files' has '/f/x' twice"),
        ({"files": {"n" * 300: "/f/x"}}, "of 300 characters; expected 1 to 200"),
        ({"files": {"\N{SNOWMAN}" * 100: "/f/x"}}, "of at most 200 bytes"),
        ({"files": {"../x": "/f/x"}}, "'../x'; expected a relative path without '..'"),
        ({"files": {"/x": "/f/x"}}, "'/x'; expected a relative path"),
        ({"files": {"x\0": "/f/x"}}, "expected 1 to 200 in valid Unicode"),
        ({"files": {"x": "/f/\0"}}, "expected the path of a file"),
        ({"seconds": {"run": "long"}}, r"field 'seconds'\['run'\] is 'long'; expected float"),
        ({"seconds": {"run": float("inf")}}, r"\['run'\] is inf; expected a duration in seconds"),
        ({"seconds": {"run": -1}}, "expected a duration in seconds"),
        ({"seconds": {str(number): 1 for number in range(100)}}, "has 100 stages; expected at most 64"),
        ({"peak": True}, "field 'peak' is True; expected int"),
        ({"peak": 1 << 70}, "expected a number of bytes"),
        ({"meta": [1]}, r"field 'meta' is \[1\]; expected object of anything"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Malformed, match=message):
        answers.call_result({**RIGHT, **change}, 1, WHERE)


def test_what_json_lacks_is_replaced_and_said() -> None:
    meta = {"placement": {"share": float("nan")}, "n": 1 << 80, "text": "x" * 100_000, "remarks": "forged"}
    said = answers.call_result({**RIGHT, "meta": meta}, 1, WHERE).said
    assert said["placement"] == {"share": None} and said["n"] is None and len(said["text"]) == 64 * 1024
    assert said["remarks"] == [
        "placement.share: nan was replaced by nothing", "n: an integer of more than 64 bits was replaced by nothing",
        "text: a text of 100000 characters was cut",
    ]  # fmt: skip


def test_many_remarks_are_counted_and_a_forged_one_is_dropped() -> None:
    said = answers.call_result({**RIGHT, "meta": {"a": [float("nan")] * 100}}, 1, WHERE).said
    assert len(said["remarks"]) == 9 and said["remarks"][-1] == "92 more values were replaced"
    assert answers.call_result({**RIGHT, "meta": {"remarks": ["forged"]}}, 1, WHERE).said == {}


def test_an_unknown_symptom_is_the_harness_s_and_keeps_the_message() -> None:
    said = answers.reported({"symptom": "boredom", "message": "nothing to do"})
    assert said.symptom == "harness"
    assert "field 'symptom' is 'boredom'; expected one of crash, " in said.message and "nothing to do" in said.message
