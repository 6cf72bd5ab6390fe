"""The calls of frameworks, of training and of datasets."""

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


@dataclass(frozen=True, eq=False, repr=False)
class ModelCall(Call):
    """The fields of all calls for a framework's own model. The file ``weights.npz`` has its weights if it is trained.

    model: the declaration of its constructor.
    seed: the seed of weights that are not trained.
    batched: a sample is [1, ...], a batch of one; else it has no batch dimension, or one of its own.
    """

    model: ModelDescription
    seed: int
    batched: bool

    @property
    def identity(self) -> str:
        """SHA-256 in hexadecimal, equal for calls that construct the same model with the same weights."""
        return hashlib.sha256(json.dumps([self.model.meta(), self.seed], sort_keys=True).encode()).hexdigest()

    @property
    def example(self) -> List[np.ndarray[Any, Any]]:
        """One sample, [1, ...] if ``batched``, else [...], in the order of the model's inputs."""
        return one_sample(self.inputs, self.batched)


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceCall(ModelCall):
    """Outputs of the model in float64, by default kernels, by other kernels, and in float64 perturbed by one ULP.

    The reply's arrays are ``truth:<output>`` (float64), ``default:``, ``variant:`` and ``perturbed:``, [N, ...] each,
    and ``alt:`` [...] for the second binding. Of detections all are [all rows, ...] with ``#rows`` beside them, and
    ``perturbed0:`` to ``perturbed7:``, in float32 and several ULP off, stand for ``variant:`` and ``perturbed:``.

    noise_samples: the number of samples for the variant and the perturbed run.
    """

    operation = "reference"

    noise_samples: int

    @property
    def second_binding(self) -> Arrays:
        """Inputs [...] by name for the second binding of symbolic dimensions; empty for a static model."""
        return self._given(SECOND_BINDING)


@dataclass(frozen=True, eq=False, repr=False)
class ExportCall(ModelCall):
    """Export the model to ``model.onnx``; the inputs are one example.

    exporter: one of those that ADAPTER declares.
    opset: the version of ONNX's default domain.
    dynamic: symbolic dimensions stay symbolic; else they get the sizes of the example.
    """

    operation = "export"

    exporter: str
    opset: int
    dynamic: bool


@dataclass(frozen=True, eq=False, repr=False)
class ImportCall(Call):
    """Import ``model.onnx`` into the framework, and keep the model for the RunImportedCall that follows.

    importer: one of those that ADAPTER declares.
    input_ports: the file's inputs.
    batched: samples are rows of a batch.
    """

    operation = "import_model"

    importer: str
    input_ports: Tuple[Port, ...] = dataclasses.field(default=(), metadata={KEY: "inputs"})
    batched: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class RunImportedCall(Call):
    """Outputs ``out0``, ``out1`` ... [N, ...] of the model that the call before imported.

    batched: samples are rows of a batch.
    ragged: the number of rows of an output differs from sample to sample.
    once: the inputs are [...] as the model takes them, for a single run (such as a second binding of symbols).
    """

    operation = "run_imported"

    batched: bool = False
    ragged: bool = False
    once: bool = dataclasses.field(default=False, metadata={KEY: "whole"})


@dataclass(frozen=True, eq=False, repr=False)
class TrainCall(ModelCall):
    """Train the model on the call's only input [N, ...] and write ``weights.npz``.

    A model of which only some channels are kept comes with the file ``weights.npz`` of the whole one: the channels with
    the largest sums of absolute weights stay, and are trained again.

    training: the length of the training and its parameters.
    """

    operation = "train"

    training: Training

    @property
    def labels(self) -> np.ndarray[Any, Any]:
        """The classes of the images, int64 [N]; for ``boxes`` the objects, int64 [N, M, 5]: class, x1, y1, x2, y2 in
        pixels, with a class below 0 where there is none.
        """
        return self._array("labels")


@dataclass(frozen=True, eq=False, repr=False)
class FetchCall(Call):
    """A dataset as arrays ``x_train y_train x_test y_test``: images float32 [N, ...] in [0, 1], classes int64 [N].

    In place of classes the objects of detection may stand: int64 [N, M, 5] with class, x1, y1, x2, y2 in pixels, at
    most M of them in an image; the class is below 0 where there are fewer.
    """

    operation = "fetch"
