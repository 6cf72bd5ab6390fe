"""Equal inputs give equal bits, or the figure says how often they do not."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bench_plugin.agent.toolkit.determinism import Repeats, digest

Values = list[Any]
RNG = np.random.default_rng(0)
SAMPLES = [[RNG.standard_normal((1, 64)).astype(np.float32)] for _ in range(3)]


def squares(inputs: Values) -> Values:
    return [inputs[0] ** 2]


def repeated(run: Any, samples: Any, times: int) -> dict[str, Any]:
    """The figures after running each of ``samples`` ``times`` times, in turn."""
    repeats = Repeats()
    for _ in range(times):
        for index, inputs in enumerate(samples):
            repeats.add(index, run(list(inputs)))
    return repeats.figures()


def test_a_model_that_repeats_its_bits() -> None:
    found = repeated(squares, SAMPLES, 4)
    assert found == {"compared": 9, "identical": True, "digest": repeated(squares, SAMPLES, 2)["digest"]}


def test_one_bit_in_one_repeat_of_one_sample_is_found() -> None:
    calls = itertools.count()

    def run(inputs: Values) -> Values:
        found = squares(inputs)
        if next(calls) == 7:
            found[0].view(np.uint32)[0, 5] ^= 1
        return found

    found = repeated(run, SAMPLES, 4)
    assert (found["identical"], found["differ"], found["samples"]) == (False, 1, [1])


def test_without_a_repeat_nothing_is_said_of_repeats() -> None:
    assert set(repeated(squares, SAMPLES, 1)) == {"compared", "digest"}
    assert set(Repeats().figures()) == {"compared", "digest"}


def test_digests_of_launches_differ_with_the_bits_and_with_the_order_of_samples() -> None:
    one = repeated(squares, SAMPLES, 1)["digest"]
    assert one == repeated(squares, SAMPLES, 3)["digest"]
    assert one != repeated(squares, SAMPLES[::-1], 1)["digest"]
    assert one != repeated(lambda inputs: [inputs[0] ** 2 * np.float32(1.0000001)], SAMPLES, 1)["digest"]


def test_a_digest_tells_types_shapes_lists_and_signs_of_zero_apart() -> None:
    zeros = np.zeros(2, np.float32)
    values: list[Values] = [
        [zeros], [zeros.astype(np.int32)], [zeros.reshape(1, 2)], [-zeros], [[zeros]], [None], [], [zeros, zeros],
        [[zeros], zeros],
    ]  # fmt: skip
    assert len({digest(value) for value in values}) == len(values)
    assert digest([zeros[::1]]) == digest([np.zeros(4, np.float32)[::2]])
