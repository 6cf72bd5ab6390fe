"""Small models trained in PyTorch, in seconds and always to the same weights."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from typing import Any, cast

from bench_plugin.agent import construct, samples
from bench_plugin.agent.adapter import Call, Reply
from bench_plugin.agent.arrays import to_numpy

ADAPTER = {
    "name": "training_pytorch",
    "kind": "tool",
    "toolchain": "pytorch",
    "title": "Training in PyTorch",
    "distribution": "torch",
    "operations": ["train"],
}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return {name: importlib.metadata.version(name) for name in ("torch", "numpy")}

    def reset(self) -> None:
        """Nothing to forget."""

    def train(self, call: Call) -> Reply:
        """``weights.npz``, the state by name, after ``meta["training"]`` (epochs, batch, rate) with Adam.

        Images are the call's only input [n, ...], ``labels`` int64 [n]. One thread: the order of sums is fixed.
        """
        import numpy as np

        torch = importlib.import_module("torch")
        row = cast("dict[str, Any]", call.meta["training"])
        threads, seed = torch.get_num_threads(), int(str(call.meta["seed"]))
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(seed)
        call.stage("build")
        net = construct.build(cast("dict[str, Any]", call.meta["model"])).train()
        images = torch.from_numpy(samples.given(call)[0].copy())
        labels = torch.from_numpy(to_numpy(call.arrays["labels"]).copy())
        optimiser = torch.optim.Adam(net.parameters(), lr=row["rate"])
        shuffle = np.random.default_rng(seed)
        loss = torch.zeros(())
        try:
            for _ in range(row["epochs"]):
                order = torch.from_numpy(shuffle.permutation(len(labels)))
                for start in range(0, len(labels), row["batch"]):
                    chosen = order[start : start + row["batch"]]
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
        path = os.path.join(call.folder, "weights.npz")
        np.savez(path, **{name: value.numpy() for name, value in net.state_dict().items()})
        return Reply({"loss": float(loss), "train_accuracy": right, **row}, files={"weights.npz": path})
