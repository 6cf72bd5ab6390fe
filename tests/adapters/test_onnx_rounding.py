"""Weights rounded to float16: which tensors are, and that folding and summing beforehand keep the function."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ROUNDED = 2e-2  # relative to the largest output, by rounding weights to float16
LEAST = 1e-6  # below that nothing was rounded


@pytest.fixture(scope="module")
def found(tools_python: Path) -> Mapping[str, Any]:
    """Every graph of rounding_cases.py with every rounding."""
    command = [str(tools_python), str(Path(__file__).with_name("rounding_cases.py"))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows: Mapping[str, Any] = json.loads(done.stdout)
    return rows


def test_every_rounding_keeps_the_function(found: Mapping[str, Any]) -> None:
    rounded = {name: row for name, row in found.items() if " " in name}
    assert len(rounded) == 22 * 10
    assert {name: row["off"] for name, row in rounded.items() if row["off"] > ROUNDED} == {}


def test_a_recurrent_bias_is_no_weight_although_it_has_two_dimensions(found: Mapping[str, Any]) -> None:
    for name in ("lstm", "gru"):
        assert set(found[f"{name} w16"]["halves"]) == {"w_float16", "r_float16"}
        assert set(found[f"{name} w16-all"]["halves"]) == {"w_float16", "r_float16", "b_float16"}


def test_only_the_constants_that_are_named_are_rounded(found: Mapping[str, Any]) -> None:
    row = found["scaled w16-all+only-1"]
    assert row["halves"] == {} and row["changed"] == ["w"] and row["off"] > LEAST
    assert "Cast" not in row["operators"]


def test_the_constants_of_a_file_are_those_that_float16_changes(found: Mapping[str, Any]) -> None:
    assert found["dense"] == [
        ["w", True, ""], ["c", False, ""], ["s", False, ""], ["t", False, ""], ["m", False, ""], ["v", False, ""],
        ["y.epsilon", False, ""],
    ]  # fmt: skip
    assert found["divided"] == [
        ["w", True, ""], ["d", False, ""], ["f", False, ""], ["v", True, ""], ["k", False, ""],
        ["leaky.alpha", False, ""], ["1/d", False, "d"], [found["divided"][-1][0], True, "v"],
    ]  # fmt: skip
    assert found["divided"][-1][0].startswith("v times ")
    assert found["looped"] == [["w", True, ""]]


def test_weights_and_biases_take_in_the_normalization_before_them(found: Mapping[str, Any]) -> None:
    assert max(found["absorbed"]) < 1e-5  # the roundings themselves change 100 times as much


def test_one_layer_takes_in_the_normalization_that_another_one_reads_rounded(found: Mapping[str, Any]) -> None:
    assert found["shared"] < 1e-5


def test_the_layer_of_the_queries_takes_in_the_root_of_the_scale(found: Mapping[str, Any]) -> None:
    assert max(found["attended"]) < 1e-5


def test_a_convolution_takes_in_the_gate_behind_it(found: Mapping[str, Any]) -> None:
    assert found["gated"] < 1e-6


def test_what_is_computed_from_constants_is_stored(found: Mapping[str, Any]) -> None:
    assert found["computed"]["nodes"] == ["Constant", "RandomNormal", "Mul", "Add"]
    assert found["computed"]["stored"] == ["d", "s"] and found["computed"]["off"] < 1e-6


def test_where_a_tool_has_no_subnormal_numbers_zeros_take_their_place(found: Mapping[str, Any]) -> None:
    normal = 2.0**-14
    assert found["tiny w16"]["least"] < normal <= found["tiny w16-flush"]["least"]


def test_weights_that_are_constants_of_the_graph_are_weights(found: Mapping[str, Any]) -> None:
    row = found["written out w16"]
    assert set(row["halves"]) == {"w_float16"} and row["operators"] == ["Cast", "MatMul"] and row["off"] > LEAST


def test_a_file_without_such_weights_has_no_model_in_float16(found: Mapping[str, Any]) -> None:
    refused = "the file has no float32 weights that could be stored as float16"
    assert found["refused"] == {"integers": refused, "vectors": refused, "halves": ""}


def test_ties_go_to_the_even_number_or_to_the_larger_one(found: Mapping[str, Any]) -> None:
    step = 2.0**-10
    assert found["tiny w16"]["seconds"] == [1, -1, 1 + 2 * step, 1, 2.0**-14]
    assert found["tiny w16-flush"]["seconds"] == [1 + step, -1 - step, 1 + 2 * step, 1, 2.0**-14]


def test_a_weight_that_only_the_body_of_a_loop_reads_is_rounded(found: Mapping[str, Any]) -> None:
    assert set(found["looped w16"]["halves"]) == {"w_float16"}


def test_summed_biases_are_rounded(found: Mapping[str, Any]) -> None:
    assert set(found["lstm w16+summed"]["halves"]) == {"w_float16", "r_float16", "b_float16"}
    assert found["lstm w16+summed"]["off"] > LEAST


def test_weights_that_the_graph_cuts_out_of_a_vector_are_weights(found: Mapping[str, Any]) -> None:
    assert set(found["cut w16"]["halves"]) == {f"{name}_computed_float16" for name in "wr"}
    assert found["cut w16-all"]["halves"].keys() == {"all_float16"}
    assert set(found["cut w16+summed"]["halves"]) == {f"{name}_computed_float16" for name in "wrb"}
    assert set(found["cut w16+computed"]["halves"]) == {f"{name}_computed_float16" for name in "wrb"}


@pytest.mark.parametrize("name", ["conv", "biased", "transposed"])
def test_batch_normalization_goes_into_the_convolution_before_it_is_rounded(
    found: Mapping[str, Any], name: str
) -> None:
    row = found[f"{name} w16+folded"]
    assert "BatchNormalization" not in row["operators"] and "Mul" not in row["operators"]
    assert set(row["halves"]) == {"w_float16"}
    assert LEAST < row["off"] != found[f"{name} w16"]["off"]


@pytest.mark.parametrize("name", ["dense", "rowwise"])
def test_batch_normalization_goes_into_a_product_of_matrices_too(found: Mapping[str, Any], name: str) -> None:
    row = found[f"{name} w16-all+folded+summed"]
    assert row["operators"] == ["Cast", "Cast", "Gemm"] and set(row["halves"]) == {"w_float16", "c_float16"}
    assert "Mul" in found["weighed w16+folded"]["operators"]  # of a product that is scaled itself nothing is folded


def test_batch_normalization_of_two_dimensions_goes_into_a_product_without_a_bias(found: Mapping[str, Any]) -> None:
    row = found["tabular w16+folded"]
    assert row["operators"] == ["Cast", "Mul", "Add", "Gemm"] and set(row["halves"]) == {"w_float16"}
    assert LEAST < row["off"] < ROUNDED  # the factor and the summand of the first one have as many dimensions as x


def test_constants_that_only_computed_another_one_are_no_places(found: Mapping[str, Any]) -> None:
    assert found["powers"] == [["w", True, ""], ["root", False, ""]]


def test_a_number_that_is_computed_from_a_fixed_size_is_a_constant(found: Mapping[str, Any]) -> None:
    assert found["sized"] == [["w", True, ""], ["root", False, ""]]


@pytest.mark.parametrize("name", ["multiplied", "spread"])
def test_a_product_goes_into_the_convolution_before_it_is_rounded(found: Mapping[str, Any], name: str) -> None:
    row = found[f"{name} w16-all+scaled"]
    assert row["operators"] == ["Cast", "Cast", row["operators"][2], "Add"]
    assert set(row["halves"]) == {"w_float16", "c_float16"}
    assert LEAST < row["off"] != found[f"{name} w16-all"]["off"]


def test_a_weight_that_two_layers_share_takes_in_what_is_behind_each(found: Mapping[str, Any]) -> None:
    row = found["tied w16-all+scaled"]
    assert "Mul" not in row["operators"] and row["operators"].count("Conv") == 2
    assert set(row["halves"]) == {"w_of_cg_float16", "b_of_cg_float16", "w_of_ck_float16", "b_of_ck_float16"}
    assert LEAST < row["off"] != found["tied w16-all"]["off"]


def test_a_number_behind_a_layer_and_its_bias_goes_into_both(found: Mapping[str, Any]) -> None:
    row = found["tempered w16-all+scaled"]
    assert "Div" not in row["operators"] and set(row["halves"]) == {"w_float16", "c_float16"}
    assert LEAST < row["off"] != found["tempered w16-all"]["off"]


def test_alpha_and_beta_of_a_gemm_go_into_it(found: Mapping[str, Any]) -> None:
    row = found["third w16-all+scaled"]
    assert LEAST < row["off"] < ROUNDED and row["off"] != found["third w16-all"]["off"]


def test_a_graph_may_have_nodes_without_inputs(found: Mapping[str, Any]) -> None:
    assert "BatchNormalization" not in found["constant w16+folded"]["operators"]


@pytest.mark.parametrize("name", ["rows", "shared", "scaled"])
def test_what_is_no_factor_of_a_convolution_s_channels_stays(found: Mapping[str, Any], name: str) -> None:
    assert found[f"{name} w16-all+scaled"]["operators"].count("Mul") == found[f"{name} w16-all"]["operators"].count(
        "Mul"
    )


def test_what_cannot_be_folded_is_a_factor_and_a_summand(found: Mapping[str, Any]) -> None:
    row = found["shared w16+folded"]
    assert "BatchNormalization" not in row["operators"] and "Mul" in row["operators"]
    assert set(row["halves"]) == {"w_float16"}  # vectors whatever their shape
    assert len(found["shared w16-all+folded+summed"]["halves"]) == 3


def test_cutting_off_never_goes_beyond_a_weight(found: Mapping[str, Any]) -> None:
    assert not found["lstm w16-cut"]["beyond"] and found["lstm w16"]["beyond"]
