"""The digits dataset that scikit-learn bundles: 1,797 images of 8 x 8 pixels in ten classes."""

from __future__ import annotations

import importlib

from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.contract import FetchCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "digits",
    "kind": "dataset",
    "toolchain": "datasets",
    "title": "Digits (scikit-learn)",
    "distribution": "scikit-learn",
    "operations": ["fetch"],
    "classes": 10,
}

BRIGHTEST = 16.0
SEED = 0x0D16


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("scikit-learn", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def fetch(self, call: FetchCall) -> Reply:
        """``x_train y_train x_test y_test``: float32 [n, 1, 8, 8] in [0, 1] and int64 [n]; half of it is the test set.

        Every class is halved for itself, in a seeded order.
        """
        call.stage("build")
        import numpy as np

        found = importlib.import_module("sklearn.datasets").load_digits()
        images = np.asarray(found.images / BRIGHTEST, dtype=np.float32)[:, None]
        labels = np.asarray(found.target, dtype=np.int64)
        order = np.random.default_rng(SEED).permutation(len(labels))
        train = np.concatenate([order[labels[order] == one][::2] for one in range(10)])
        test = np.setdiff1d(order, train)
        train = np.sort(train)
        arrays = {"x_train": images[train], "y_train": labels[train], "x_test": images[test], "y_test": labels[test]}
        meta: dict[str, object] = {"classes": 10, "train": len(train), "test": len(test)}
        return Reply(meta, samples.blobs(arrays))
