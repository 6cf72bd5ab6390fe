"""Small models trained in PyTorch, in seconds and always to the same weights; pruned ones from those of the whole."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from bench_plugin.adapters.frameworks import detection_loss, pruning, pytorch
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import WEIGHTS, TrainCall
from bench_plugin.agent.toolkit import construct, versions

ADAPTER = {
    "name": "training_pytorch",
    "kind": "tool",
    "toolchain": "pytorch",
    "title": "Training in PyTorch",
    "distribution": "torch",
    "operations": ["train"],
    "uses": ["pytorch", "pruning", "detection_loss"],
    "errors": [{"package": "torch"}],
}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("torch", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def train(self, call: TrainCall) -> Reply:
        """``weights.npz``, the state by name, after training with Adam.

        Images are the call's only input [n, ...], ``labels`` int64 [n] or [n, M, 5]. One thread: the order of sums is
        fixed. Raises Unsupported for a model whose channels cannot be pruned.
        """
        import numpy as np

        torch = importlib.import_module("torch")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(call.seed)
        call.stage("build")
        try:
            net, kept = _built(torch, call)
            said = _trained(torch, net, call)
        finally:
            torch.use_deterministic_algorithms(False)
            torch.set_num_threads(threads)
        path = call.path(WEIGHTS)
        np.savez(path, **{name: value.numpy() for name, value in net.state_dict().items()})
        meta: dict[str, object] = {**said, **dataclasses.asdict(call.training)}
        return Reply({**meta, "kept": kept} if kept else meta, files={WEIGHTS: path})


def _built(torch: Any, call: TrainCall) -> tuple[Any, dict[str, str]]:
    """The network before training, and what its layers keep of the channels of the whole one, whose weights it gets."""
    net = construct.build(call.model)
    if WEIGHTS in call.files:
        pytorch.load_weights(torch, net, call.files[WEIGHTS])
    return net, pruning.of_torch(torch, net, call.model.kept)


def _trained(torch: Any, net: Any, call: TrainCall) -> dict[str, object]:
    """Train in place; the last loss, and for classes the share of training images that are right."""
    import numpy as np

    training = call.training
    (given,) = call.inputs.values()
    images, labels = torch.from_numpy(given.copy()), torch.from_numpy(call.labels.copy())
    of_boxes = training.labels == "boxes"
    optimiser = torch.optim.Adam(net.parameters(), lr=training.rate)
    shuffle = np.random.default_rng(call.seed)
    loss = torch.zeros(())
    net.train()
    for _ in range(training.epochs):
        order = torch.from_numpy(shuffle.permutation(len(labels)))
        for start in range(0, len(labels), training.batch):
            chosen = order[start : start + training.batch]
            optimiser.zero_grad()
            found = net(images[chosen])
            if of_boxes:
                loss = detection_loss.of_boxes(torch, found, labels[chosen], images.shape[-1])
            else:
                loss = torch.nn.functional.cross_entropy(found, labels[chosen])
            loss.backward()
            optimiser.step()
    net.eval()
    if of_boxes:
        return {"loss": float(loss)}
    with torch.no_grad():
        right = float((net(images).argmax(dim=1) == labels).double().mean())
    return {"loss": float(loss), "train_accuracy": right}
