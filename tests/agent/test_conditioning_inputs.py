"""The inputs of the pass that conditions a model: as it declares them, whatever their number, rank and type."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.agent.contract import ModelDescription, Port
from bench_plugin.agent.toolkit import conditioning, conditioning_inputs, samples

COUNT = conditioning.CALIBRATION_IMAGES


def passes(*ports: Port, channels_last: bool = False) -> list[list[np.ndarray]]:
    model = ModelDescription({}, ports, binding={"batch": 1, "sequence": 5})
    return conditioning_inputs.passes(model, 3, channels_last)


def test_a_symbolic_batch_is_one_pass_over_every_input() -> None:
    ports = (
        Port("x", "float32", ("batch", 30)), Port("ids", "int64", ("batch", "sequence"), values="tokens", high=7),
        Port("mask", "bool", ("batch", 2)), Port("table", "float64", (4, 3)),
        Port("u", "float32", ("batch",), "", "uniform", 50),
    )  # fmt: skip
    (given,) = passes(*ports)
    shapes = [(COUNT, 30), (COUNT, 5), (COUNT, 2), (4, 3), (COUNT,)]
    assert [(x.shape, x.dtype.name) for x in given] == list(zip(shapes, [port.dtype for port in ports], strict=True))
    assert set(given[1].reshape(-1).tolist()) <= set(range(7)) and given[1].max() > 3
    assert given[4].min() >= 0 and 10 < given[4].max() < 50
    assert np.unique(given[0]).size > 200 and given[2].any() and not given[2].all()


def test_a_fixed_batch_of_one_is_one_pass_over_many_rows() -> None:
    (given,) = passes(Port("x", "float32", (1, 30)), Port("y", "float32", (1, 4, 6)))
    assert [x.shape for x in given] == [(COUNT, 30), (COUNT, 4, 6)]


def test_what_has_no_batch_is_passed_sample_by_sample() -> None:
    given = passes(Port("x", "float32", (2, 30)), Port("ids", "int32", ("sequence",)))
    assert [[x.shape for x in inputs] for inputs in given] == [[(2, 30), (5,)]] * COUNT
    assert (given[0][0] != given[1][0]).any() and max(inputs[1].max() for inputs in given) < 16


@pytest.mark.parametrize("declared", ["NHWC", ""])
def test_images_are_the_same_in_every_layout_and_to_every_framework(declared: str) -> None:
    (first,) = passes(Port("x", "float32", ("batch", 3, 16, 12), "NCHW", "image"))
    assert (first[0] == samples.images(3, (COUNT, 3, 16, 12))).all()
    last = Port("x", "float32", ("batch", 16, 12, 3), declared, "image")
    (other,) = passes(last, channels_last=not declared)
    assert (other[0].transpose(0, 3, 1, 2) == first[0]).all() and other[0].flags.c_contiguous


def test_images_of_a_detector_have_no_batch_and_are_the_same() -> None:
    given = passes(Port("image", "float32", (3, 16, 12), "", "image"))
    assert (np.stack([x for (x,) in given]) == samples.images(3, (COUNT, 3, 16, 12))).all()


def test_pixels_lie_between_0_and_1() -> None:
    (given,) = passes(Port("x", "float32", ("batch", 3, 16, 12), "NCHW", "pixels"))
    assert 0 <= given[0].min() < 0.3 < 0.7 < given[0].max() <= 1
