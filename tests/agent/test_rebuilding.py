"""Layers that are rebuilt from an artefact: how many arrays their constants are, of which a reply takes 4,096."""

from __future__ import annotations

import numpy as np

from bench_plugin.agent.toolkit.rebuilding import Layers


def layers_of(count: int) -> Layers:
    """Layers of integers, each with a scale of its own and the limits of int8."""
    layers = Layers()
    for index in range(count):
        real = layers.integers(f"t{index}", index, 0.01 + 0.001 * index, 3)
        layers.made_integers(real, count + index, "RELU", 0.5, -128, (-128, 127))
    return layers


def test_equal_numbers_of_all_layers_are_one_constant() -> None:
    layers = layers_of(100)
    assert len(layers.values) <= 100 + 5  # a scale for each layer; two zero points, a scale and two limits for all
    reads = {name for node in layers.nodes for name in node.inputs}
    assert set(layers.values) <= reads


def test_numbers_of_another_type_and_arrays_stay_apart() -> None:
    layers = Layers()
    one, other, array, again = (
        layers.constant(1), layers.constant(1, "int64"), layers.constant([1.0]), layers.constant([1.0])
    )  # fmt: skip
    assert len({one, other, array, again}) == 4 and layers.constant(1.0) == one
    assert layers.values[one].dtype == "float64" and layers.values[other].dtype == "int64"


def test_a_constant_that_is_compared_with_the_file_is_shared_with_nothing() -> None:
    layers = Layers()
    plain = layers.constant(2.0)
    number, step = np.array(2.0), np.array(0.5)
    compared = [layers.quantised("weight", "MUL", number, step) for _ in range(2)]
    compared.append(layers.floating("weight", "ADD", number))
    assert len(set(compared)) == 3 and plain not in compared and layers.constant(2.0) == plain
