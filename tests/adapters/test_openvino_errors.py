"""OpenVINO's errors: the line that says what is wrong comes first."""

from __future__ import annotations

import pytest

from bench_plugin.adapters.compilers.openvino import _readable
from bench_plugin.agent.adapter import InvalidModel

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
