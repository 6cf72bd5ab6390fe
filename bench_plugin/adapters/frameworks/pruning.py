"""Filter pruning of chains of layers, in PyTorch and in Keras: the channels with the largest absolute weights stay.

A filter's importance is the sum of its absolute weights. The inputs of the first layer and the outputs of the last one
stay; every layer between them keeps the same share of its channels, and whatever follows it loses their inputs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "pruning",
    "kind": "tool",
    "toolchain": "pytorch",
    "title": "Filter pruning",
    "operations": [],
}

WHOLE = 100  # percent


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class Channels(NamedTuple):
    """The channels that stay of a tensor between two layers: their places, rising, among ``of`` channels."""

    places: Any
    of: int


def count_kept(channels: int, percent: int) -> int:
    """How many of the channels stay: the nearest whole number, at least one.

    >>> [count_kept(32, percent) for percent in (100, 50, 25, 1)]
    [32, 16, 8, 1]
    """
    return max(1, (channels * percent + WHOLE // 2) // WHOLE)


def strongest(weights: Any, percent: int) -> Channels:
    """The filters that stay, of ``weights`` [filters, ...]: those with the largest sums of absolute weights.

    Of equal sums the first stays.
    """
    import numpy as np

    sums = np.abs(np.asarray(weights, dtype=np.float64)).reshape(len(weights), -1).sum(axis=1)
    first = np.argsort(-sums, kind="stable")[: count_kept(len(sums), percent)]
    return Channels(np.sort(first), len(sums))


def inputs_left(channels: Channels, inputs: int, *, channels_last: bool = False) -> Any:
    """The places of the inputs, of ``inputs``, that are left of a layer that takes these channels, perhaps flattened.

    A flattened tensor has all places of a channel side by side, or with ``channels_last`` all channels of a place.
    """
    import numpy as np

    spots = np.arange(inputs // channels.of)
    if channels_last:
        return (spots[:, None] * channels.of + channels.places[None, :]).reshape(-1)
    return (channels.places[:, None] * len(spots) + spots[None, :]).reshape(-1)


def of_torch(torch: Any, net: Any, percent: int) -> dict[str, str]:
    """Prune a chain of torch modules in place. Returns what each pruned layer keeps, such as ``{"3": "16 of 32"}``.

    Nothing happens at 100 percent. Raises Unsupported for a network that is no chain, and for a layer whose channels
    are not known here.
    """
    if percent == WHOLE:
        return {}
    layers = list(_chain(torch, net, ""))
    weighted = [layer for _, layer in layers if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear))]
    found: dict[str, str] = {}
    left: Channels | None = None
    with torch.no_grad():
        for name, layer in layers:
            if layer in weighted:
                if left is not None:
                    _take_inputs(torch, layer, inputs_left(left, layer.weight.shape[1]))
                left = None
                if layer is not weighted[-1]:
                    left = strongest(layer.weight.detach().numpy(), percent)
                    _take_outputs(torch, layer, left.places)
                    found[name] = "%d of %d" % (len(left.places), left.of)
            elif left is not None and isinstance(layer, torch.nn.modules.batchnorm._BatchNorm):
                _take_statistics(torch, layer, left.places)
            elif any(True for _ in layer.parameters()):
                raise Unsupported("pruning does not know the channels of layer %s: %s" % (name, type(layer).__name__))
    return found


def of_keras(net: Any, percent: int) -> tuple[Any, dict[str, str]]:
    """A new Sequential with the strongest channels of a built one, and what each pruned layer keeps.

    At 100 percent it is the network itself. Raises Unsupported for a network that is no Sequential, and for a layer
    whose channels are not known here.
    """
    if percent == WHOLE:
        return net, {}
    keras = importlib.import_module("keras")
    if not isinstance(net, keras.Sequential):
        raise Unsupported("pruning follows a chain of layers, keras.Sequential; this is %s" % type(net).__name__)
    weighted = [layer for layer in net.layers if isinstance(layer, (keras.layers.Conv2D, keras.layers.Dense))]
    made, weights = [keras.layers.Input(net.input_shape[1:])], []
    found: dict[str, str] = {}
    left: Channels | None = None
    for layer in net.layers:
        config, values = layer.get_config(), layer.get_weights()
        if layer in weighted:
            if getattr(layer, "groups", 1) != 1:
                raise Unsupported("pruning does not know the channels of a grouped convolution: %s" % layer.name)
            if left is not None:
                values[0] = values[0][..., inputs_left(left, values[0].shape[-2], channels_last=True), :]
            left = None
            if layer is not weighted[-1]:
                kernel = values[0]
                left = strongest(kernel.reshape(-1, kernel.shape[-1]).T, percent)
                values = [value[..., left.places] for value in values]
                config["filters" if "filters" in config else "units"] = len(left.places)
                found[layer.name] = "%d of %d" % (len(left.places), left.of)
        elif values and left is not None and isinstance(layer, keras.layers.BatchNormalization):
            values = [value[left.places] for value in values]
        elif values and not isinstance(layer, keras.layers.BatchNormalization):
            raise Unsupported("pruning does not know the channels of layer %s" % layer.name)
        made.append(type(layer).from_config(config))
        weights += values
    twin = keras.Sequential(made)
    twin.set_weights(weights)
    return twin, found


def _chain(torch: Any, net: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The modules of a Sequential, and of those in it, in the order in which they compute, with their names."""
    if not isinstance(net, torch.nn.Sequential):
        raise Unsupported("pruning follows a chain of layers, torch.nn.Sequential; this is %s" % type(net).__name__)
    for own, module in net.named_children():
        if isinstance(module, torch.nn.Sequential):
            yield from _chain(torch, module, "%s%s." % (name, own))
        elif getattr(module, "groups", 1) != 1:
            raise Unsupported("pruning does not know the channels of a grouped convolution: %s%s" % (name, own))
        else:
            yield name + own, module


def _take_inputs(torch: Any, layer: Any, places: Any) -> None:
    layer.weight = torch.nn.Parameter(layer.weight[:, places].clone())
    setattr(layer, "in_channels" if hasattr(layer, "in_channels") else "in_features", len(places))


def _take_outputs(torch: Any, layer: Any, places: Any) -> None:
    layer.weight = torch.nn.Parameter(layer.weight[places].clone())
    if layer.bias is not None:
        layer.bias = torch.nn.Parameter(layer.bias[places].clone())
    setattr(layer, "out_channels" if hasattr(layer, "out_channels") else "out_features", len(places))


def _take_statistics(torch: Any, layer: Any, places: Any) -> None:
    for name in ("weight", "bias"):
        if getattr(layer, name) is not None:
            setattr(layer, name, torch.nn.Parameter(getattr(layer, name)[places].clone()))
    for name in ("running_mean", "running_var"):
        if getattr(layer, name) is not None:
            setattr(layer, name, getattr(layer, name)[places].clone())
    layer.num_features = len(places)
