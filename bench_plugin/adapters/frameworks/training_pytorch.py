"""Small models trained in PyTorch, in seconds and always to the same weights."""

from __future__ import annotations

import dataclasses
import importlib

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

        Images are the call's only input [n, ...], ``labels`` int64 [n]. One thread: the order of sums is fixed.
        """
        import numpy as np

        torch = importlib.import_module("torch")
        training = call.training
        threads, seed = torch.get_num_threads(), call.seed
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(seed)
        call.stage("build")
        net = construct.build(call.model).train()
        (given,) = call.inputs.values()
        images, labels = torch.from_numpy(given.copy()), torch.from_numpy(call.labels.copy())
        optimiser = torch.optim.Adam(net.parameters(), lr=training.rate)
        shuffle = np.random.default_rng(seed)
        loss = torch.zeros(())
        try:
            for _ in range(training.epochs):
                order = torch.from_numpy(shuffle.permutation(len(labels)))
                for start in range(0, len(labels), training.batch):
                    chosen = order[start : start + training.batch]
                    optimiser.zero_grad()
                    loss = torch.nn.functional.cross_entropy(net(images[chosen]), labels[chosen])
                    loss.backward()
                    optimiser.step()
            net.eval()
            with torch.no_grad():
                right = float((net(images).argmax(dim=1) == labels).double().mean())
        finally:
            torch.use_deterministic_algorithms(False)
            torch.set_num_threads(threads)
        path = call.path(WEIGHTS)
        np.savez(path, **{name: value.numpy() for name, value in net.state_dict().items()})
        return Reply(
            {"loss": float(loss), "train_accuracy": right, **dataclasses.asdict(training)}, files={WEIGHTS: path}
        )
