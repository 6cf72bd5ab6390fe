"""Quantisers of ours by their formulas: fixed point, codebooks, and the uniform one that they are compared with."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.adapters.characterise.few_bits import quantisers

DRAWN = np.random.default_rng(3).standard_normal(4000)


@pytest.mark.parametrize(
    ("bits", "fraction", "x", "integer"),
    [
        (4, 2, 1.25, 5), (4, 2, 9.0, 7), (4, 2, -9.0, -8), (4, 2, -2.0, -8), (8, 6, 0.5, 32),
        (2, 0, 1.4, 1), (2, 0, -5.0, -2), (4, -1, 6.1, 3), (4, 2, 0.125, 0), (4, 2, 0.375, 2),
    ],
)  # fmt: skip
def test_fixed_point_clips_what_it_rounded(bits: int, fraction: int, x: float, integer: int) -> None:
    assert quantisers.fixed_point(x, bits, fraction) == integer
    assert quantisers.restored(x, bits, fraction) == integer / 2.0**fraction


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("size", [1e-3, 0.3, 1.0, 77.0])
def test_the_best_fraction_is_the_best_of_all(bits: int, size: float) -> None:
    values = DRAWN * size
    chosen = quantisers.best_fraction(values, bits)
    errors = {f: quantisers.squared_error(values, quantisers.restored(values, bits, f)) for f in range(-20, 30)}
    assert errors[chosen] == min(errors.values())


def test_fixed_point_of_nothing_but_zeros() -> None:
    assert quantisers.best_fraction(np.zeros(3), 4) == 0


def test_a_codebook_of_as_many_values_as_there_are_is_exact() -> None:
    values = np.array([[3.0, -1.0], [0.5, 3.0]])
    book, index = quantisers.codebook(values, 2)
    assert np.array_equal(book[index], values)
    assert index.dtype == np.uint8 and index.shape == values.shape


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_a_codebook_is_never_worse_than_the_uniform_quantiser(bits: int) -> None:
    book, index = quantisers.codebook(DRAWN, bits)
    assert len(book) == 2**bits and (np.diff(book) > 0).all()
    assert (np.abs(book[index] - DRAWN) <= np.abs(book[:, None] - DRAWN).min(axis=0) + 1e-12).all()
    codebook = quantisers.squared_error(DRAWN, book[index])
    assert codebook < quantisers.squared_error(DRAWN, quantisers.uniform(DRAWN, bits))


def test_two_clusters_are_found() -> None:
    values = np.concatenate([np.full(90, -1.0), np.full(10, 5.0)])
    book, index = quantisers.codebook(values, 1)
    assert book.tolist() == [-1.0, 5.0] and index.tolist() == [0] * 90 + [1] * 10


def test_a_codebook_has_at_most_eight_bits() -> None:
    with pytest.raises(ValueError, match="1 to 8 bits, not 9"):
        quantisers.codebook(DRAWN, 9)


def test_sizes_are_those_of_indices_and_values() -> None:
    assert quantisers.codebook_bytes(1000, 4) == 1000 * 4 / 8 + 16 * 4
    assert quantisers.codebook_bytes(1000, 2, value_bytes=2) == 250 + 4 * 2
    assert quantisers.uniform_bytes(1000, 4, groups=10) == 500 + 40


def test_the_uniform_quantiser_is_at_most_half_a_step_off() -> None:
    step = (DRAWN.max() - DRAWN.min()) / 16
    assert np.abs(quantisers.uniform(DRAWN, 4) - DRAWN).max() <= step / 2 + 1e-12
    assert np.array_equal(quantisers.uniform(np.ones(3), 4), np.ones(3))
