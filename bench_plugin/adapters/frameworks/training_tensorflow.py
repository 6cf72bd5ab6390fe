"""Small models trained in Keras, in seconds and always to the same weights."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from typing import Any, cast

from bench_plugin.agent import construct, samples
from bench_plugin.agent.adapter import Call, Reply
from bench_plugin.agent.arrays import to_numpy

ADAPTER = {
    "name": "training_tensorflow",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Training in Keras",
    "distribution": "keras",
    "operations": ["train"],
    "uses": ["tensorflow"],
}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return {name: importlib.metadata.version(name) for name in ("tensorflow-cpu", "keras", "numpy")}

    def reset(self) -> None:
        """Nothing to forget."""

    def train(self, call: Call) -> Reply:
        """``weights.npz``, the weights in Keras' order, after ``meta["training"]`` (epochs, batch, rate) with Adam.

        Images are the call's only input [n, ...], ``labels`` int64 [n].
        """
        import numpy as np

        keras = importlib.import_module("bench_adapter_tensorflow").Adapter().keras()
        tf = importlib.import_module("tensorflow")
        row = cast("dict[str, Any]", call.meta["training"])
        keras.utils.set_random_seed(int(str(call.meta["seed"])))
        tf.config.experimental.enable_op_determinism()
        call.stage("build")
        net = construct.build(cast("dict[str, Any]", call.meta["model"]))
        images, labels = samples.given(call)[0], to_numpy(call.arrays["labels"])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        net.compile(keras.optimizers.Adam(row["rate"]), loss, metrics=["accuracy"])
        net.fit(images, labels, batch_size=row["batch"], epochs=row["epochs"], shuffle=True, verbose=0)
        final, right = net.evaluate(images, labels, verbose=0)
        path = os.path.join(call.folder, "weights.npz")
        np.savez(path, *net.get_weights())
        return Reply({"loss": float(final), "train_accuracy": float(right), **row}, files={"weights.npz": path})
