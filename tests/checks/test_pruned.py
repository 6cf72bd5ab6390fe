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
    """And the cell of the whole model is the same without the option."""
    finished = run(trained, "--kept=100,50,25", "--models=net,seeded")
    found = by_axes(finished, "model", "kept")
    assert set(found) == {("net", None), ("net", 50), ("net", 25), ("seeded", None)}, finished.text
    rows = {kept: row for (model, kept), row in found.items() if model == "net"}
    assert {kept: row["numbers"]["training"] for kept, row in rows.items()} == {
        None: {"share": 100, "before": 0.0}, 50: {"share": 50, "before": 100.0}, 25: {"share": 25, "before": 100.0},
    }  # fmt: skip
    assert len({row["key"] for row in rows.values()}) == 3
    assert [one for one in rows[50]["repro"] if one.startswith("--bench-kept")] == ["--bench-kept=50"]
    assert rows[50]["nodeid"].endswith("-kept50]")
    needs = rows[None]["numbers"]["needs"]
    operations = 2 * (8 * 16 + 16 * 4)
    assert (needs["operations"], needs["weights"], needs["lower_bound"]) == (operations, operations // 2, False)
    declared = by_axes(finished, "model", "kept", kind="declared")
    assert set(declared) == {("seeded", 50), ("seeded", 25)}
    refused = declared["seeded", 50]
    assert refused["status"] == "unsupported"
    assert refused["reason"].startswith("seeded is not trained here: pruning keeps the channels that training gave")
    plain = by_axes(run(trained, "--models=net"), "model")["net",]
    assert plain["cell"] == rows[None]["cell"] and "kept" not in plain["cell"]
    assert (plain["key"], plain["nodeid"], plain["repro"]) == tuple(
        rows[None][key] for key in ("key", "nodeid", "repro")
    )


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
    ],
)
def test_a_share_that_is_none_is_a_usage_error(trained: Project, option: str, message: str) -> None:
    finished = trained.run(option)
    assert finished.code == 4 and message in finished.text


def test_a_marker_asks_for_shares(trained: Project) -> None:
    trained.write("test_models.py", EQUIVALENCE.replace('check="equivalence"', 'check="equivalence", kept=[50]'))
    finished = run(trained, "--models=net", "--collect-only", "-q")
    assert finished.text.count("::test_equivalence[net-") == 1 and "-kept50]" in finished.text
