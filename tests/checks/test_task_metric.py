"""The accuracy of a trained model beside its time: of the artefact that was timed, also in batches."""

from __future__ import annotations

from bench_plugin.checks.performance.task_metric import other_artefact
from bench_plugin.results.artefact import digest_in
from tests.checks.test_inputs import DATASET
from tests.checks.test_sweeps import by_axes, run
from tests.checks.test_timing import TESTS, timed
from tests.project import Project

__all__ = ["timed"]  # a fixture

QUALITY = TESTS.replace('check="timing"', 'check="quality"').replace("test_timing", "test_quality")
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
        np.savez(call.path("weights.npz"), nothing=np.zeros(1))
        return Reply({"loss": 0.0, "train_accuracy": 1.0}, files={"weights.npz": call.path("weights.npz")})
"""
TRAINED = 'dataset = "noise"\n[training]\nframeworks = ["fake"]\nepochs = 1\nbatch = 8\nrate = 0.1\n[[inputs]]'


def test_the_accuracy_is_of_the_artefact_that_was_timed_and_the_same_as_that_of_the_quality_check(
    timed: Project,
) -> None:
    seed = timed.write("seed", "1")
    dataset = timed.write("noise.py", DATASET.replace("SEED", repr(str(seed))).replace('"classes": 2', '"classes": 4'))
    training = timed.write("training.py", TRAINING)
    text = (timed.folder / "bench.toml").read_text()
    timed.write("bench.toml", text.replace("adapters = [", f'adapters = ["{dataset}", "{training}", '))
    path = timed.folder / "fixtures/models/net.toml"
    path.write_text(path.read_text().replace("[[inputs]]", TRAINED, 1))
    timed.write("test_models.py", TESTS + QUALITY.replace("import pytest\n", ""))
    finished = run(timed, "--bench-batches=1,7")
    rows = by_axes(finished, "check", "batch")
    quality, one, seven = rows["quality", None], rows["timing", None], rows["timing", 7]
    for row in (one, seven):
        task = row["numbers"]["task"]
        assert row["status"] == "supported", finished.text
        assert task["artefact"] == row["numbers"]["timing"]["artefact"] == digest_in(row["artefacts"]) != ""
        assert (task["metric"], task["inputs"]) == ("accuracy", 64), "the last batch of seven is filled, and cut"
        assert task["accuracy"] == quality["numbers"]["accuracy"] > 0
    page = (timed.folder / "reports/timing.md").read_text()
    assert f"{one['numbers']['task']['accuracy']:.2%}" in page and "error:" not in page


def test_an_accuracy_of_another_artefact_is_an_error_that_names_both() -> None:
    assert other_artefact("a" * 64, "a" * 64) == other_artefact("", "") == ""
    text = other_artefact("a" * 64, "b" * 64)
    assert "another artefact than the time: bbbbbbbbbbbb was judged, aaaaaaaaaaaa was timed" in text
