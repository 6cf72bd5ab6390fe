"""The framework's runs that find the stable detections: inputs and weights are off by the factor of the tolerances."""

from __future__ import annotations

import pytest

from bench_plugin.agent.toolkit.conditioning import DETECTION_ROUNDINGS
from bench_plugin.compare.table import DEFAULTS
from tests.adapters.test_pruning import in_toolchain

# Detectors whose scores are their weights times their inputs, so that they are off by what the two are off.
TORCH = """
import torch
class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(1, 2, 4096).reshape(64, 64))
    def forward(self, x):
        scores = (self.weight * x).reshape(-1)
        return torch.ones(len(scores), 4), torch.ones(len(scores), dtype=torch.int64), scores
"""
MXNET = """
import mxnet as mx
class Detector(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(1, 64, 64))
    def hybrid_forward(self, F, x, weight):
        scores = F.reshape(F.broadcast_mul(x, weight), (1, -1, 1))
        return F.broadcast_mul(F.ones_like(scores), F.ones((1, 1, 4))), F.ones_like(scores), scores
"""
# How far the scores of each perturbed run are from those in float64: the lowest, the nearest and the highest one.
REFERENCE = """
import json, numpy as np
from bench_plugin.adapters.frameworks.FRAMEWORK import PERTURBED_RUNS, Adapter
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import ModelDescription, Place, Port, ReferenceCall
ports = tuple(Port(name, "float32", ("R",)) for name in ("boxes", "labels", "scores"))
model = ModelDescription({"callable": "detector.py:Detector"}, (Port("x", "float32", (64, 64)),), ports, "detector",
                         "detector.py", SOURCE, detections=True)
x = np.linspace(2, 3, 2 * 4096, dtype=np.float32).reshape(2, 64, 64)
place = Place("", {}, {"in:x": from_numpy(x)}, lambda stage: None)
reply = Adapter().reference(ReferenceCall(model, 0, False, 1).at(place))
found = {name: to_numpy(array).astype(np.float64) for name, array in reply.arrays.items()}
kinds = sorted({name.split(":")[0] for name in found})
off = [found[kind + ":scores"] / found["truth:scores"] - 1 for kind in kinds if kind.startswith("perturbed")]
unlike = len({values.tobytes() for values in off})
print(json.dumps({"kinds": kinds, "runs": PERTURBED_RUNS, "unlike": unlike, "notes": reply.meta["notes"],
                  "off": [[float(values.min()), float(abs(values).min()), float(values.max())] for values in off]}))
"""
STEP = 2.0**-23  # of float32, between 1 and 2


def test_detections_are_perturbed_by_the_factor_of_the_tolerances() -> None:
    assert DEFAULTS.rows["fp32"].k == DETECTION_ROUNDINGS


@pytest.mark.parametrize(("framework", "source"), [("pytorch", TORCH), ("mxnet", MXNET)])
def test_inputs_and_weights_of_a_detector_are_perturbed(framework: str, source: str) -> None:
    found = in_toolchain(framework, REFERENCE.replace("FRAMEWORK", framework).replace("SOURCE", repr(source)))
    runs = [f"perturbed{index}" for index in range(found["runs"])]
    assert found["kinds"] == ["default", *runs, "truth"] and found["runs"] == found["unlike"] == 8
    assert found["notes"] == []
    for low, least, high in found["off"]:  # ten steps of the weight and ten of the input, which may cancel
        assert low == pytest.approx(-20 * STEP, rel=0.1) and high == pytest.approx(20 * STEP, rel=0.1)
        assert least < STEP
