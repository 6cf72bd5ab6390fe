"""Pruned variants of trained models through the whole plugin: cells, rows, the calls of training, what cannot be."""

from __future__ import annotations

import json

import pytest

from tests.checks.test_inputs import DATASET
from tests.checks.test_sweeps import by_axes, run
from tests.checks.test_task_metric import QUALITY, TRAINED
from tests.checks.test_timing import TESTS, timed
from tests.project import Project

__all__ = ["timed"]  # a fixture

# It says what it was given: whose weights, and which share of the channels.
TRAINING = """
from bench_plugin.agent.adapter import Reply

ADAPTER = {"name": "training_fake", "kind": "tool", "toolchain": "fake", "operations": ["train"]}

class Adapter:
    def versions(self):
        return {}

    def reset(self):
        pass

    def train(self, call):
        import numpy as np

        call.stage("build")
        before = float(np.load(call.files["weights.npz"])["share"]) if "weights.npz" in call.files else 0.0
        np.savez(call.path("weights.npz"), share=np.float64(call.model.kept))
        return Reply({"share": call.model.kept, "before": before}, files={"weights.npz": call.path("weights.npz")})
"""
EQUIVALENCE = TESTS.replace('check="timing"', 'check="equivalence"').replace("test_timing", "test_equivalence")


@pytest.fixture
def trained(timed: Project) -> Project:
    """A project whose model ``net`` is trained, beside ``seeded``, which is not."""
    dataset = timed.write("noise.py", DATASET.replace("SEED", repr(str(timed.write("seed", "1")))))
    training = timed.write("training.py", TRAINING)
    text = (timed.folder / "bench.toml").read_text()
    timed.write("bench.toml", text.replace("adapters = [", f'adapters = ["{dataset}", "{training}", '))
    timed.model("seeded", seconds=20)
    path = timed.folder / "fixtures/models/net.toml"
    path.write_text(path.read_text().replace("[[inputs]]", TRAINED, 1))
    timed.write("test_models.py", EQUIVALENCE)
    return timed


def test_each_share_is_a_cell_that_is_trained_from_the_weights_of_the_whole_model(trained: Project) -> None:
    finished = run(trained, "--kept=100,50,25", "--models=net")
    rows = by_axes(finished, "kept")
    assert set(rows) == {(None,), (50,), (25,)} and finished.code == 0, finished.text
    assert {share: row["numbers"]["training"] for (share,), row in rows.items()} == {
        None: {"share": 100, "before": 0.0}, 50: {"share": 50, "before": 100.0}, 25: {"share": 25, "before": 100.0},
    }  # fmt: skip
    assert len({row["key"] for row in rows.values()}) == 3
    assert [one for one in rows[50,]["repro"] if one.startswith("--bench-kept")] == ["--bench-kept=50"]
    assert not [one for one in rows[None,]["repro"] if "kept" in one]
    assert rows[50,]["nodeid"].endswith("-kept50]") and "kept" not in rows[None,]["nodeid"]
    needs = rows[None,]["numbers"]["needs"]
    assert (needs["operations"], needs["weights"], needs["lower_bound"]) == (
        2 * (8 * 16 + 16 * 4),
        8 * 16 + 16 * 4,
        False,
    )


def test_without_the_option_nothing_of_it_is_in_a_row(trained: Project) -> None:
    plain = by_axes(run(trained, "--models=net"), "model")["net",]
    asked = by_axes(run(trained, "--models=net", "--kept=100"), "model")["net",]
    assert plain["cell"] == asked["cell"] and "kept" not in plain["cell"]
    assert plain["key"] == asked["key"] and plain["nodeid"] == asked["nodeid"]


def test_a_model_that_is_not_trained_here_is_unsupported_and_says_why(trained: Project) -> None:
    finished = run(trained, "--kept=50", "--models=net,seeded")
    declared = by_axes(finished, "model", "kept", kind="declared")["seeded", 50]
    assert declared["status"] == "unsupported"
    assert declared["reason"].startswith("seeded is not trained here: pruning keeps the channels that training gave")
    assert set(by_axes(finished, "model")) == {("net",)}


def test_times_and_round_trips_have_shares_too(trained: Project) -> None:
    export = EQUIVALENCE.replace("equivalence", "export").replace("import pytest\n", "")
    trained.write("test_models.py", TESTS + QUALITY.replace("import pytest\n", "") + export)
    finished = run(trained, "--bench-kept=50", "--models=net")
    rows = by_axes(finished, "check", "kept")
    assert set(rows) == {("timing", 50), ("quality", 50), ("export", 50)}, finished.text
    page = (trained.folder / "reports/timing.md").read_text()
    assert "kept 50" in page
    grid = json.loads(trained.bench("grid", "--json").stdout)
    assert "50 % kept" in (trained.folder / "reports/equivalence.md").read_text() and grid


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--kept=0", "kept: 0 is not a positive number"),
        ("--kept=101", "kept: 101 is more than 100"),
        ("--kept=half", "--bench-kept: 'half' is not a list of whole numbers"),
    ],
)
def test_a_share_that_is_none_is_a_usage_error(trained: Project, option: str, message: str) -> None:
    finished = trained.run(option)
    assert finished.code == 4 and message in finished.text


def test_a_marker_asks_for_shares(trained: Project) -> None:
    trained.write("test_models.py", EQUIVALENCE.replace('check="equivalence"', 'check="equivalence", kept=[50]'))
    assert set(by_axes(run(trained, "--models=net"), "kept")) == {(50,)}
