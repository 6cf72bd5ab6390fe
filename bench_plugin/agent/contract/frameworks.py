"""Calls of frameworks, of training and of datasets."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Tuple

from bench_plugin.agent.contract.call import SECOND_BINDING, Call, one_sample
from bench_plugin.agent.contract.parts import ModelDescription, Port, Training
from bench_plugin.agent.contract.records import KEY

if TYPE_CHECKING:
    import numpy as np

    from bench_plugin.agent.contract.call import Arrays

WEIGHTS = "weights.npz"


@dataclass(frozen=True)
class ModelCall(Call):
    """A framework's own model, whatever is to be done with it. ``weights.npz`` holds its weights where it is trained.

    model: how it is constructed.
    seed: of weights that are not trained.
    batched: samples are rows of a batch; else a sample has no batch dimension, or one of its own.
    """

    model: ModelDescription
    seed: int
    batched: bool

    @property
    def identity(self) -> str:
        """The same for two calls that construct the same model with the same weights: SHA-256 in hexadecimal."""
        return hashlib.sha256(json.dumps([self.model.meta(), self.seed], sort_keys=True).encode()).hexdigest()

    @property
    def example(self) -> List[np.ndarray[Any, Any]]:
        """One sample as the model takes it, in the order of its inputs."""
        return one_sample(self.inputs, self.batched)


@dataclass(frozen=True)
class ReferenceCall(ModelCall):
    """What the model computes: in float64, by default kernels, by other kernels, and in float64 off by an ulp.

    The reply's arrays are ``default:<output>``, ``truth:``, ``variant:``, ``perturbed:`` and ``alt:`` [N, ...].

    noise_samples: how many of the samples the variant and the perturbed run take.
    """

    operation = "reference"

    noise_samples: int

    @property
    def second_binding(self) -> Arrays:
        """Inputs by name for the second binding of symbolic dimensions, as the model takes them; empty without one."""
        return self._given(SECOND_BINDING)


@dataclass(frozen=True)
class ExportCall(ModelCall):
    """The model as ``model.onnx``; the inputs are one example.

    exporter: one of those that ADAPTER declares.
    opset: of ONNX's own operators.
    dynamic: symbolic dimensions stay symbolic; else every dimension is the example's.
    """

    operation = "export"

    exporter: str
    opset: int
    dynamic: bool


@dataclass(frozen=True)
class ImportCall(Call):
    """``model.onnx`` as a model of the framework, which is kept for the RunImportedCall that follows.

    importer: one of those that ADAPTER declares.
    input_ports: the file's inputs.
    batched: samples are rows of a batch.
    """

    operation = "import_model"

    importer: str
    input_ports: Tuple[Port, ...] = dataclasses.field(default=(), metadata={KEY: "inputs"})
    batched: bool = False


@dataclass(frozen=True)
class RunImportedCall(Call):
    """Outputs ``out0``, ``out1`` ... of the model that was imported by the call before.

    batched: samples are rows of a batch.
    ragged: the number of rows of an output differs from sample to sample.
    once: the inputs are tensors as the model takes them, to be run once (such as a second binding of symbols).
    """

    operation = "run_imported"

    batched: bool = False
    ragged: bool = False
    once: bool = dataclasses.field(default=False, metadata={KEY: "whole"})


@dataclass(frozen=True)
class TrainCall(ModelCall):
    """The model trained on the call's only input [n, ...], as ``weights.npz``.

    training: for how long, and how.
    """

    operation = "train"

    training: Training

    @property
    def labels(self) -> np.ndarray[Any, Any]:
        """The classes of the images, int64 [n]."""
        return self._array("labels")


@dataclass(frozen=True)
class FetchCall(Call):
    """A dataset as arrays ``x_train y_train x_test y_test``: images float32 [n, ...] in [0, 1], classes int64 [n]."""

    operation = "fetch"
