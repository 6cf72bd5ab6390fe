"""OpenVINO's errors: the line that says what is wrong comes first."""

from __future__ import annotations

import pytest

from bench_plugin.adapters.compilers.openvino import ShapeInferenceError, _readable
from bench_plugin.agent.adapter import InvalidModel
from bench_plugin.agent.refusals import refuses

PLACES = "Exception from src/inference/src/cpp/core.cpp:117:\nException from src/inference/src/dev/plugin.cpp:53:\n"
CONDITION = "Check 'any_of(scale.size(), OC, 1U)' failed at src/plugins/intel_cpu/src/dnnl_postops_composer.cpp:526"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (PLACES + "Unsupported rank\n", "Unsupported rank"),
        (PLACES + CONDITION + "\n", CONDITION),
        (PLACES + CONDITION + ":\nscales do not fit\n", "scales do not fit"),
    ],
)
def test_words_come_first_and_where_there_are_none_the_condition_that_failed(text: str, first: str) -> None:
    error = _readable(RuntimeError(text))
    assert str(error).splitlines()[0] == first
    assert text in str(error) and type(error) is RuntimeError


def test_a_file_that_is_no_model_is_called_invalid() -> None:
    error = _readable(RuntimeError(PLACES + "Unable to read the model: /m.onnx\n"))
    assert type(error) is InvalidModel and str(error).startswith("Unable to read the model")


NOT_CONVERTED = "Model wasn't fully converted. Failed operations detailed log:\n"
FOLLOWS = (
    "-- ReduceSumSquare-20 with a message:\nCheck 'ok' failed at reduce.cpp:134:\nUnsupported input type dynamic\n\n"
)
FAILS = "-- STFT-20 with a message:\nCheck 'static' failed at stft.cpp:54:\nShape of signal input must be static.\n\n"


@pytest.mark.parametrize("text", [FOLLOWS + FAILS, FAILS + FOLLOWS])
def test_of_several_nodes_the_one_that_fails_by_itself_counts(text: str) -> None:
    error = _readable(RuntimeError(PLACES + NOT_CONVERTED + text + "Summary:\n-- Conversion is failed for: STFT-20\n"))
    assert str(error).splitlines()[0] == "STFT-20: Shape of signal input must be static."
    only = _readable(RuntimeError(PLACES + NOT_CONVERTED + FOLLOWS))
    assert str(only).splitlines()[0] == "ReduceSumSquare-20: Unsupported input type dynamic"


def test_what_its_own_core_rejects_is_no_refusal() -> None:
    place = "Check 'arg0_rank != 0' failed at src/core/shape_inference/include/matmul_shape_inference.hpp:27:\n"
    text = (
        PLACES
        + NOT_CONVERTED
        + "-- Gemm-17 with a message:\n"
        + place
        + "Scalars are not supported as MatMul inputs.\n"
    )
    error = _readable(RuntimeError(text))
    assert str(error).splitlines()[0] == "Gemm-17: Scalars are not supported as MatMul inputs."
    assert type(error) is ShapeInferenceError and not refuses(error)
    assert refuses(_readable(RuntimeError(text.replace("src/core/shape_inference/", "src/frontends/onnx/"))))


def test_an_operator_without_a_rule_counts_before_what_fails_behind_it() -> None:
    behind = "-- Conv-17 with a message:\nCheck 'rank' failed at conv.cpp:38:\n"
    behind += "The input data tensor's rank has to be known (static)\n\n"
    summary = (
        "Summary:\n-- No conversion rule found for operations: MaxUnpool-17\n-- Conversion is failed for: Conv-17\n"
    )
    error = _readable(RuntimeError(PLACES + NOT_CONVERTED + behind + summary))
    assert str(error).splitlines()[0] == "No conversion rule found for operations: MaxUnpool-17" and refuses(error)


def test_what_a_node_behind_says_is_no_refusal_of_the_one_that_fails() -> None:
    loop = (
        "-- Loop-15 with a message:\nCheck 'sizes' failed at loop.cpp:310:\nThe inputs size (11) does not match (8)\n\n"
    )
    error = _readable(
        RuntimeError(PLACES + NOT_CONVERTED + loop + FOLLOWS + "Summary:\n-- Conversion is failed for: Loop-15\n")
    )
    assert str(error).splitlines()[0] == "Loop-15: The inputs size (11) does not match (8)" and not refuses(error)


def test_what_a_pass_throws_comes_before_its_node() -> None:
    thrown = "[ConvertRNN] END: node: opset5::RNN R (opset1::Parameter x[0]:f32[1,9]) CALLBACK HAS THROWN: "
    error = _readable(RuntimeError(PLACES + thrown + "Unknown activation function: softsign\n"))
    assert str(error).splitlines()[0] == "Unknown activation function: softsign (ConvertRNN)"
