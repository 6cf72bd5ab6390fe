"""The cycle model: its formulas by hand, and the published relations on MobileNetV1."""

from __future__ import annotations

import pytest

from bench_plugin.adapters.simulator.npu_cycles import (
    CONVOLUTION,
    CPU,
    INPUT,
    MEMORY,
    OUTPUT,
    OWN,
    Machine,
    Work,
    convolution,
    elementwise,
    on_cpu,
)
from tests.adapters.simulator.mobilenet import cycles, layers, normalised

LARGE, SMALL, MIDDLE = MEMORY["256MiB"], MEMORY["512KiB"], MEMORY["1MiB"]
POINT = Work(14, 14, 1, 100, 200)


def test_cycles_by_hand() -> None:
    first = Work(112, 112, 9, 3, 32, pixels=224 * 224)
    assert convolution(Machine(64, INPUT, LARGE), first).compute == 112 * 112 * 9 * 1 * 32
    assert convolution(Machine(64, OUTPUT, LARGE), first).compute == 112 * 112 * 9 * 3 * 1
    assert convolution(Machine(64, INPUT, LARGE), POINT).compute == 14 * 14 * 2 * 200
    assert convolution(Machine(64, OUTPUT, LARGE), POINT).compute == 14 * 14 * 100 * 4
    assert convolution(Machine(128, OUTPUT, LARGE), POINT).compute == 14 * 14 * 100 * 2
    found = convolution(Machine(128, OUTPUT, LARGE), POINT)
    assert (found.tiles, found.bus_bytes) == (1, 200 * (100 + 4)), "only weights and biases go over the bus"
    assert found.utilisation == pytest.approx(14 * 14 * 100 * 200 / (14 * 14 * 100 * 2 * 128), abs=1e-4)


def test_the_longer_of_computing_and_moving_counts() -> None:
    product = Work(1, 1, 1, 1024, 1000)
    found = convolution(Machine(128, OUTPUT, LARGE), product)
    assert found.compute == 1024 * 8 and found.bus_bytes == 1000 * 1028
    assert found.cycles == 1000 * 1028 // 16 > found.compute, "every weight is used once: the bus binds"
    assert found.utilisation == pytest.approx(1024 * 1000 / (64250 * 128), abs=1e-4)


def test_tiles_are_along_the_output_channels_and_as_many_filters_as_fit() -> None:
    work = Work(112, 112, 1, 32, 64)
    room = SMALL - 112 * 112 * 32
    fits = room // (112 * 112 + 32 + 4)
    found = convolution(Machine(64, OUTPUT, SMALL), work)
    assert (fits, found.tiles) == (9, 8) and found.compute == 112 * 112 * 32 * 8
    assert convolution(Machine(64, INPUT, SMALL), work).compute == 112 * 112 * 64
    assert found.bus_bytes == 64 * 36 + 112 * 112 * (32 + 64), "what is tiled goes over the bus"
    streamed = convolution(Machine(64, OUTPUT, SMALL), Work(112, 112, 1, 64, 64))
    assert streamed.tiles > 1 and streamed.bus_bytes == 64 * 68 + 112 * 112 * 64 * (streamed.tiles + 1)


def test_depthwise_has_three_variants() -> None:
    work = Work(56, 56, 9, 128, 128, 128)
    own, other = (convolution(Machine(64, OUTPUT, LARGE, kind), work) for kind in (OWN, CONVOLUTION))
    assert own.compute == 56 * 56 * 9 * 2 and other.compute == 56 * 56 * 9 * 128
    assert on_cpu(work.multiply_adds, 0).cycles == 56 * 56 * 9 * 128
    grouped = Work(8, 8, 1, 8, 8, 2)
    assert convolution(Machine(64, OUTPUT, LARGE), grouped).compute == 2 * 8 * 8 * 4


def test_mobilenet_is_the_published_network() -> None:
    work = layers()
    assert len(work) == 28 and sum(one.depthwise for one in work) == 13
    assert sum(one.multiply_adds for one in work) == 568_740_352
    assert sum((one.filter_bytes - 4) * one.filters for one in work) == 4_209_088


def test_relation_1_without_tiling_output_parallel_needs_fewer_cycles() -> None:
    assert cycles(Machine(64, OUTPUT, LARGE)) < cycles(Machine(64, INPUT, LARGE))


def test_relation_2_with_tiling_input_parallel_is_faster() -> None:
    assert cycles(Machine(64, INPUT, SMALL)) < cycles(Machine(64, OUTPUT, SMALL))


def test_relation_3_depthwise_on_the_convolution_instruction_needs_drastically_more() -> None:
    for memory in (SMALL, LARGE):
        own, other = (cycles(Machine(64, OUTPUT, memory, kind)) for kind in (OWN, CONVOLUTION))
        assert other > 2 * own
    deep = [one for one in layers() if one.depthwise]
    on = {kind: cycles(Machine(64, OUTPUT, LARGE, kind), deep) for kind in (OWN, CONVOLUTION, CPU)}
    assert on[CONVOLUTION] > 30 * on[OWN] and on[CPU] > 30 * on[OWN]


def test_relation_4_more_elements_with_little_memory_can_be_faster_than_fewer_with_much() -> None:
    assert cycles(Machine(128, OUTPUT, MIDDLE)) < cycles(Machine(64, OUTPUT, LARGE))


def test_relation_5_cycles_do_not_scale_linearly_with_memory() -> None:
    small, middle, large = (cycles(Machine(64, OUTPUT, memory)) for memory in (SMALL, MIDDLE, LARGE))
    assert small > middle >= large
    assert small / middle < MIDDLE / SMALL and middle / large < 2 < LARGE / MIDDLE


def test_relation_7_batch_normalisation_between_convolution_and_activation_costs_the_long_pipeline() -> None:
    machine = Machine(64, OUTPUT, MIDDLE)
    assert sum(normalised(machine, one) for one in layers()[:-1]) > cycles(machine, layers()[:-1])
    apart = elementwise(machine, 112, 112, 64)
    assert apart.cycles >= apart.compute == 112 * 112 and apart.bus_bytes == 2 * 112 * 112 * 64, "it does not fit"
    assert elementwise(machine, 14, 14, 64).bus_bytes == 0
