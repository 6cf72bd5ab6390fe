"""How many samples go through the layers of a quantised model, and what they are made of as one whole."""

from __future__ import annotations

import numpy as np
import pytest

from bench_plugin.pipeline.stages import Done
from bench_plugin.pipeline.tasks.layer_tasks import HELD, clipped_nodes, clips, held_samples, readers, unrounded_names


@pytest.mark.parametrize(
    ("count", "share", "held"),
    [(4, 1.0, None), (4, 1.1, 3), (4, 1.4, 2), (4, 9.0, 2), (2, 9.0, None), (16, 2.0, 8)],
)
def test_as_many_samples_as_fit_and_two_at_least(count: int, share: float, held: int | None) -> None:
    elements = int(HELD * share) // (count * 2 * 4)
    tensor = np.broadcast_to(np.float32(0), (count, elements))  # takes no memory
    assert held_samples({"out0": tensor, "out1": tensor}) == held


def test_no_tensors_need_no_memory() -> None:
    assert held_samples({}) is None


def test_what_layers_are_given_is_followed_to_what_nothing_has_rounded() -> None:
    results = [{"output": 1, "real": "sum"}, {"output": 2, "real": "given1"}, {"output": 3, "real": "product"}]
    given = [{"output": number, "real": f"given{number}"} for number in range(4)]
    done = Done(failure=None, meta={"rebuild": {"results": results, "given": given, "rounded": {"inner": "given3"}}})
    assert unrounded_names(done) == {"given1": "sum", "given2": "sum", "given3": "product", "inner": "product"}


def test_what_reads_a_result_that_is_cut_takes_it_as_it_is_cut() -> None:
    results = [
        {"output": 1, "real": "sum", "scale": 0.5, "low": -1.0, "high": 2.0},
        {"output": 2, "real": "given1", "scale": 0.25, "low": -1.0, "high": 1.0},
        {"output": 3, "real": "product", "scale": 0.5, "low": -4.0, "high": 4.0},
    ]
    given = [{"output": number, "real": f"given{number}"} for number in range(4)]
    done = Done(failure=None, meta={"rebuild": {"results": results, "given": given}})
    once = unrounded_names(done, ["sum"])
    assert once == {"given1": "cut1", "given2": "cut1", "given3": "product"}
    twice = unrounded_names(done, ["sum", "given1"])
    assert twice == {"given1": "cut1", "given2": "cut2", "given3": "product"}
    made = clips(done, twice, ["sum", "given1"])
    nodes = [{"operator": "Add", "inputs": ["x", "x"], "outputs": ["sum"]},
             {"operator": "Mul", "inputs": ["cut2", "cut1"], "outputs": ["product"]}]  # fmt: skip
    found = clipped_nodes(nodes, made)
    assert [row["outputs"] for row in found] == [["sum"], ["cut1"], ["cut2"], ["product"]]
    assert found[1] == {"operator": "Clip", "inputs": ["sum", "cut1_low", "cut1_high"], "outputs": ["cut1"],
                        "attributes": {}}  # fmt: skip
    assert found[2]["inputs"] == ["cut1", "cut2_low", "cut2_high"]
    assert {name: float(value) for one in made for name, value in one.ends.items()} == {
        "cut1_low": -1.0, "cut1_high": 2.0, "cut2_low": -1.0, "cut2_high": 1.0,
    }  # fmt: skip


def test_what_a_kernel_that_rounds_twice_gives_is_no_other_reader() -> None:
    results = [{"output": 1, "real": "sum", "computed": ""}, {"output": 2, "real": "product", "computed": "twice"}]
    given = [{"output": 1, "real": "given1"}]
    nodes = [{"inputs": ["given1"], "outputs": ["product"]}, {"inputs": ["given1"], "outputs": ["rounded"]},
             {"inputs": ["rounded"], "outputs": ["twice"]}]  # fmt: skip
    said = {"results": results, "given": given, "nodes": nodes}
    assert readers(Done(failure=None, meta={"rebuild": said})) == {"sum": "product"}
    twice = [*nodes, {"inputs": ["given1"], "outputs": ["other"]}]
    both = {**said, "nodes": twice, "results": [*results, {"output": 3, "real": "other", "computed": ""}]}
    assert readers(Done(failure=None, meta={"rebuild": both})) == {}
