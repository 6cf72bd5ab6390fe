"""The framework's runs that find the stable detections: inputs and weights are off by the factor of the tolerances."""

from __future__ import annotations

import pytest

from bench_plugin.agent.toolkit.conditioning import DETECTION_ROUNDINGS
from bench_plugin.compare.table import DEFAULTS
from tests.adapters.test_pruning import in_toolchain

# A detector whose scores are its weights times its inputs, so that they are off by what the two are off.
TORCH = """
import json, numpy as np
from bench_plugin.adapters.frameworks.pytorch import PERTURBED_RUNS, Adapter
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import ModelDescription, Place, Port, ReferenceCall
source = '''
import torch
class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(1, 2, 4096).reshape(64, 64))
    def forward(self, x):
        scores = (self.weight * x).reshape(-1)
        return torch.ones(len(scores), 4), torch.ones(len(scores), dtype=torch.int64), scores
'''
ports = tuple(Port(name, "float32", ("R",)) for name in ("boxes", "labels", "scores"))
model = ModelDescription({"callable": "detector.py:Detector"}, (Port("x", "float32", (64, 64)),), ports, "detector",
                         "detector.py", source, detections=True)
x = np.linspace(2, 3, 2 * 4096, dtype=np.float32).reshape(2, 64, 64)
place = Place("", {}, {"in:x": from_numpy(x)}, lambda stage: None)
reply = Adapter().reference(ReferenceCall(model, 0, False, 1).at(place))
found = {name: to_numpy(array).astype(np.float64) for name, array in reply.arrays.items()}
kinds = sorted({name.split(":")[0] for name in found})
off = [found[kind + ":scores"] / found["truth:scores"] - 1 for kind in kinds if kind.startswith("perturbed")]
unlike = len({values.tobytes() for values in off})
print(json.dumps({"kinds": kinds, "runs": PERTURBED_RUNS, "unlike": unlike, "notes": reply.meta["notes"],
                  "off": [[float(values.min()), float(abs(values).min()), float(values.max())] for values in off],
                  "rows": found["perturbed0:scores#rows"].tolist()}))
"""
MXNET = """
import json, numpy as np, mxnet as mx
from bench_plugin.adapters.frameworks.mxnet import Net, _perturbed
from bench_plugin.agent.toolkit.conditioning import Perturbation
values = {name: mx.nd.array(np.linspace(1, 2, 100), dtype=dtype)
          for name, dtype in (("w", "float32"), ("exact", "float64"), ("mean", "float32"))}
net = Net(None, None, values, ["x"], ["w", "exact"])
off = _perturbed(net, Perturbation(0, 10))
apart = {name: (off.values[name].asnumpy().astype("float64") / net.values[name].asnumpy().astype("float64") - 1)
         for name in values}
print(json.dumps({"apart": {name: [float(abs(v).min()), float(abs(v).max())] for name, v in apart.items()},
                  "kinds": {name: str(np.dtype(off.values[name].dtype)) for name in values},
                  "kept": float(net.values["w"].asnumpy()[0])}))
"""
STEP = 2.0**-23  # between 1 and 2, of float32


def test_detections_are_perturbed_by_the_factor_of_the_tolerances() -> None:
    assert DEFAULTS.rows["fp32"].k == DETECTION_ROUNDINGS


def test_inputs_and_weights_of_a_detector_are_perturbed_in_torch() -> None:
    found = in_toolchain("pytorch", TORCH)
    runs = [f"perturbed{index}" for index in range(found["runs"])]
    assert found["kinds"] == ["default", *runs, "truth"] and found["runs"] == found["unlike"] == 8
    assert found["notes"] == [] and found["rows"] == [4096, 4096]
    for low, least, high in found["off"]:  # ten steps of the weight and ten of the input, which may cancel
        assert low == pytest.approx(-20 * STEP, rel=0.1) and high == pytest.approx(20 * STEP, rel=0.1)
        assert least < STEP


def test_the_weights_alone_are_perturbed_in_mxnet() -> None:
    found = in_toolchain("mxnet", MXNET)
    assert found["kinds"] == {"w": "float32", "exact": "float64", "mean": "float32"} and found["kept"] == 1
    assert found["apart"]["w"] == pytest.approx([10 * STEP] * 2, rel=0.06)
    assert found["apart"]["exact"] == pytest.approx([5 * STEP] * 2)
    assert found["apart"]["mean"] == [0, 0]
