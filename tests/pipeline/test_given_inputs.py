"""A user's own inputs of an ONNX file: how samples are told apart, and what is said of arrays that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.inventory.inputs_file import InputsFile
from bench_plugin.inventory.workspace import plain_model
from bench_plugin.pipeline.tasks.given_inputs import VARIED, GivenInputs

ROWS = {
    "batched": [("x", "float32", ["n", 3]), ("ids", "int64", ["n", "length"])],
    "fixed": [("x", "float32", [1, 3])],
    "two": [("x", "float32", [1, 3]), ("ids", "int64", [1])],
    "text": [("x", "object", ["n"])],
}


def given(kind: str, seed: int = 0, **arrays: Any) -> GivenInputs:
    rows = [{"name": name, "dtype": dtype, "shape": shape} for name, dtype, shape in ROWS[kind]]
    said = {name: np.asarray(values) for name, values in arrays.items()}
    inputs = InputsFile(Path("/a/mine.npz"), f"{kind} {sorted(said)} {[x.tobytes() for x in said.values()]}", said)
    return GivenInputs(plain_model(Path(__file__), inputs), inputs, seed, {"inputs": rows})


def floats(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def test_rows_of_a_symbolic_batch_are_samples() -> None:
    x, ids = floats(5, 3), np.ones((5, 7), dtype=np.int64)
    inputs = given("batched", x=x, ids=ids)
    assert not inputs.refused and not inputs.complaint and inputs.batched
    assert inputs.binding == {"n": 1, "length": 7} and inputs.second_binding is None
    arrays = inputs.samples()
    assert (arrays["in:x"] == x).all() and (arrays["in:ids"] == ids).all()


def test_a_further_dimension_counts_samples() -> None:
    inputs = given("batched", x=floats(4, 2, 3), ids=np.ones((4, 2, 7), dtype=np.int64))
    assert (inputs.refused, inputs.batched, inputs.binding) == ("", False, {"n": 2, "length": 7})
    assert inputs.samples()["in:x"].shape == (4, 2, 3)


def test_rows_are_samples_too_where_the_file_takes_one_row() -> None:
    x, ids = floats(5, 3), np.arange(5)
    inputs = given("two", x=x, ids=ids)
    assert (inputs.refused, inputs.batched, inputs.binding) == ("", False, {})
    arrays = inputs.samples()
    assert (arrays["in:x"] == x[:, None]).all() and (arrays["in:ids"] == ids[:, None]).all()
    refused = given("two", x=x, ids=np.arange(1)).refused
    assert "'x' has the shape [5, 3]; the model takes x float32[1, 3], ids int64[1], for all of them one" in refused
    assert "different numbers of samples" in given("two", x=x, ids=np.arange(4)).refused


def test_a_single_sample_is_followed_by_varied_ones() -> None:
    x = floats(1, 3)
    x[0, 1] = 0
    values = given("fixed", x=x).samples()["in:x"]
    assert values.shape == (VARIED, 1, 3) and values.dtype == np.float32
    assert (values[0] == x).all() and (values[1:, :, 0] != x[:, 0]).all() and (values[:, :, 1] == 0).all()
    assert (given("fixed", x=x).samples()["in:x"] == values).all()
    assert (given("fixed", 1, x=x).samples()["in:x"][1:, 0, 0] != values[1:, 0, 0]).all()


def test_the_file_is_a_part_of_recipes() -> None:
    first, other = given("fixed", x=floats(2, 1, 3)), given("fixed", x=floats(2, 1, 3) + 1)
    assert first.parts != other.parts and first.samples.digests() != other.samples.digests()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": floats(5, 3)}, "there is no array 'ids'; the model takes x float32[n, 3], ids int64[n, length]"),
        ({"x": floats(5, 3), "ids": [[1]], "y": [1]}, "no input has the name of the array 'y'"),
        ({"x": floats(5, 3).astype("float64"), "ids": np.ones((5, 7), "int64")}, "array 'x' is float64; the model"),
        ({"x": floats(5, 4), "ids": np.ones((5, 7), "int64")}, "array 'x' has the shape [5, 4]; the model takes"),
        ({"x": floats(3), "ids": np.ones((5, 7), "int64")}, "array 'x' has the shape [3]; the model takes"),
        ({"x": floats(5, 3), "ids": np.ones((5, 1, 7), "int64")}, "for all of them one sample, or N samples"),
        ({"x": floats(5, 3), "ids": np.ones((4, 7), "int64")}, "dimension 'n' is 5 in one array and 4 in 'ids'"),
        (
            {"x": floats(5, 1, 3), "ids": np.ones((4, 1, 7), "int64")},
            "numbers of samples: {'x': 5, 'ids': 4}",
        ),
        ({"x": floats(0, 3), "ids": np.ones((0, 7), "int64")}, "there is an array without elements"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(arrays: dict[str, Any], message: str) -> None:
    inputs = given("batched", **arrays)
    assert inputs.refused.startswith("--bench-inputs: mine.npz: ") and message in inputs.refused


def test_strings_are_beyond_the_harness_whoever_gives_them() -> None:
    inputs = given("text", x=np.array(["a", "b"]))
    assert not inputs.refused
    assert "the harness does not support input 'x', which is of type string" in inputs.beyond
