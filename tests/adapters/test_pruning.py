"""Filter pruning: which channels stay, and that the layers after them lose exactly their inputs."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import numpy as np
import pytest

from bench_plugin.adapters.frameworks.pruning import Channels, count_kept, inputs_left, strongest
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.adapters.real import ROOT

# A chain whose channels differ in strength; what is left of it must compute what the whole one computes when the weak
# channels are silenced by hand: their weights, and the weights that read them, are zero.
TORCH = """
import json, torch
from bench_plugin.adapters.frameworks import pruning
from bench_plugin.agent.adapter import Unsupported
torch.manual_seed(0)
nn = torch.nn
net = nn.Sequential(
    nn.Conv2d(2, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 6, 3), nn.ReLU(),
    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(54, 5), nn.ReLU(), nn.Linear(5, 3),
).eval()
x = torch.randn(4, 2, 8, 8)
weak = {0: [1, 3, 4, 6], 3: [0, 2, 5], 7: [2, 4]}
with torch.no_grad():
    net[1].running_mean.uniform_(-1, 1)
    net[1].weight.uniform_(0.5, 2)
    for place, channels in weak.items():
        net[place].weight[channels] *= 0.01
    import copy
    whole = copy.deepcopy(net)
    whole[3].weight[:, weak[0]] = 0
    whole[7].weight.view(5, 6, 9)[:, weak[3]] = 0
    whole[9].weight[:, weak[7]] = 0
    expected = whole(x)
    said = pruning.of_torch(torch, net, 50)
    found = net(x)
refused = []
for other in (nn.Linear(2, 2), nn.Sequential(nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 2, 1)),
              nn.Sequential(nn.Linear(2, 4), nn.PReLU(), nn.Linear(4, 2))):
    try:
        pruning.of_torch(torch, other, 50)
    except Unsupported as error:
        refused.append(str(error))
print(json.dumps({
    "said": said, "apart": float((found - expected).abs().max()), "shapes": [list(p.shape) for p in net.parameters()],
    "refused": refused, "nothing": pruning.of_torch(torch, nn.Linear(2, 2), 100),
}))
"""
KERAS = """
import json, os
os.environ["KERAS_BACKEND"], os.environ["TF_CPP_MIN_LOG_LEVEL"] = "tensorflow", "3"
import keras, numpy as np
from bench_plugin.adapters.frameworks import pruning
keras.utils.set_random_seed(0)
layers = keras.layers
net = keras.Sequential([
    layers.Input((8, 8, 2)), layers.Conv2D(8, 3, padding="same", use_bias=False), layers.BatchNormalization(),
    layers.ReLU(), layers.Conv2D(6, 3), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(5, activation="relu"),
    layers.Dense(3),
])
rng = np.random.default_rng(0)
weak = {0: [1, 3, 4, 6], 3: [0, 2, 5], 6: [2, 4]}
for place, channels in weak.items():
    values = net.layers[place].get_weights()
    values[0][..., channels] *= 0.01
    net.layers[place].set_weights(values)
net.layers[1].set_weights([rng.uniform(0.5, 2, 8) for _ in range(4)])
x = rng.standard_normal((4, 8, 8, 2)).astype("float32")
twin, said = pruning.of_keras(net, 50)
found = twin(x, training=False).numpy()
for place, channels, reader in ((0, weak[0], 3), (3, weak[3], 6), (6, weak[6], 7)):
    values = net.layers[reader].get_weights()
    if reader == 6:
        kernel = values[0].reshape(9, 6, 5)
        kernel[:, channels] = 0
        values[0] = kernel.reshape(54, 5)
    else:
        values[0][..., channels, :] = 0
    net.layers[reader].set_weights(values)
expected = net(x, training=False).numpy()
print(json.dumps({"said": said, "apart": float(np.abs(found - expected).max()),
                  "shapes": [list(w.shape) for w in twin.get_weights()]}))
"""


def in_toolchain(name: str, script: str) -> dict[str, Any]:
    toolchains = Toolchains()
    if not toolchains.folder(name).is_dir():
        pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [str(toolchains.ensure(name)), "-c", script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_largest_sums_of_absolute_weights_stay_in_their_order() -> None:
    weights = np.array([[1.0, -1.0], [0.5, 0.5], [-3.0, 0.0], [0.1, 0.0], [2.0, 0.0], [1.0, 1.0]])
    left = strongest(weights, 50)
    assert (left.places.tolist(), left.of) == ([0, 2, 4], 6), "of equal sums the first stays"
    assert [count_kept(10, percent) for percent in (100, 50, 25, 1)] == [10, 5, 3, 1]


def test_flattened_channels_are_blocks_or_strides() -> None:
    left = Channels(np.array([0, 2]), 3)
    assert inputs_left(left, 3).tolist() == [0, 2]
    assert inputs_left(left, 6).tolist() == [0, 1, 4, 5], "channels first: all places of a channel"
    assert inputs_left(left, 6, channels_last=True).tolist() == [0, 2, 3, 5], "channels last: all channels of a place"


def test_a_pruned_torch_chain_computes_what_the_strong_channels_do() -> None:
    found = in_toolchain("pytorch", TORCH)
    assert found["said"] == {"0": "4 of 8", "3": "3 of 6", "7": "3 of 5"}
    assert found["apart"] < 1e-5
    assert found["shapes"] == [[4, 2, 3, 3], [4], [4], [3, 4, 3, 3], [3], [3, 27], [3], [3, 3], [3]]
    chain, grouped, prelu = found["refused"]
    assert "pruning follows a chain of layers, torch.nn.Sequential; this is Linear" in chain
    assert "grouped convolution" in grouped and "channels of layer 1: PReLU" in prelu and found["nothing"] == {}


@pytest.mark.nightly
def test_a_pruned_keras_chain_computes_what_the_strong_channels_do() -> None:
    found = in_toolchain("tensorflow", KERAS)
    assert sorted(found["said"].values()) == ["3 of 5", "3 of 6", "4 of 8"] and found["apart"] < 1e-4
    assert found["shapes"] == [[3, 3, 2, 4], [4], [4], [4], [4], [3, 3, 4, 3], [3], [27, 3], [3], [3, 3], [3]]
