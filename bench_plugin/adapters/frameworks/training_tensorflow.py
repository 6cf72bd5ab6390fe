"""Small models trained in Keras, in seconds and always to the same weights; pruned ones from those of the whole."""

from __future__ import annotations

import dataclasses
import importlib

from bench_plugin.adapters.frameworks import pruning, tensorflow
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import WEIGHTS, TrainCall
from bench_plugin.agent.toolkit import construct, versions

ADAPTER = {
    "name": "training_tensorflow",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Training in Keras",
    "distribution": "keras",
    "operations": ["train"],
    "uses": ["tensorflow", "pruning"],
    "errors": [{"package": "tensorflow"}, {"package": "keras"}],
}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("tensorflow-cpu", "keras", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def train(self, call: TrainCall) -> Reply:
        """``weights.npz``, the weights in Keras' order, after training with Adam.

        Images are the call's only input [n, ...], ``labels`` int64 [n]. Raises Unsupported for a model whose channels
        cannot be pruned, and for labels that are no classes.
        """
        import numpy as np

        keras = tensorflow.Adapter().keras()
        tf = importlib.import_module("tensorflow")
        training = call.training
        keras.utils.set_random_seed(call.seed)
        tf.config.experimental.enable_op_determinism()
        call.stage("build")
        if training.labels != "classes":
            raise Unsupported("%s are learnt in PyTorch only" % training.labels)
        net = construct.build(call.model)
        if WEIGHTS in call.files:
            tensorflow.apply(net, call.example)
            tensorflow.load_weights(net, call.files[WEIGHTS])
        net, kept = pruning.of_keras(net, call.model.kept)
        (images,), labels = call.inputs.values(), call.labels
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        net.compile(keras.optimizers.Adam(training.rate), loss, metrics=["accuracy"])
        net.fit(images, labels, batch_size=training.batch, epochs=training.epochs, shuffle=True, verbose=0)
        final, right = net.evaluate(images, labels, verbose=0)
        path = call.path(WEIGHTS)
        np.savez(path, *net.get_weights())
        meta: dict[str, object] = {
            "loss": float(final), "train_accuracy": float(right), **dataclasses.asdict(training),
        }  # fmt: skip
        return Reply({**meta, "kept": kept} if kept else meta, files={WEIGHTS: path})
