"""The calls of compilers: compile, and run the artefact."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Dict, List, Mapping, Optional, Tuple

from bench_plugin.agent.contract.call import CALIBRATION, Call, one_sample, processors
from bench_plugin.agent.contract.frameworks import ModelCall
from bench_plugin.agent.contract.parts import Description, ModelDescription, Port, Target
from bench_plugin.agent.contract.records import KEY, Malformed

if TYPE_CHECKING:
    import numpy as np

    from bench_plugin.agent.contract.call import Arrays

ORIGINAL, QDQ = "original", "qdq"


@dataclass(frozen=True, eq=False, repr=False)
class CompilerCall(Call):
    """The fields that compile and run share.

    batched: a sample is [1, ...], a batch of one; else it has no batch dimension, or one of its own.
    precision: fp32, bf16, fp16, w16, w8, w8a8, w4, int4 ...; one of those that ADAPTER declares.
    graph: the file that is compiled: ``original`` as it was exported, else pre-quantised or pre-converted (``qdq``,
        ``weights``, ``fixed``, ``kmeans``, ``dynamic``, ``w16``, ``fp16``).
    target: the machine to compile for.
    batch: how many samples one call of the model takes, as [batch, ...]; more than 1 only where ``batched``.
    backend: one of those that ADAPTER declares; empty where it declares none.
    options: the tool's options that ADAPTER declares, each with its selected value.
    threads: the number of threads that the tool may use; that of the processors if the call does not say.
    input_ports: inputs of the model, in its order, with their layouts.
    output_ports: outputs of the model, in its order.
    binding: sizes of symbolic dimensions.
    calibration_method: minmax, entropy or percentile.
    framework: the framework of ``model``; empty where an ONNX file is compiled.
    model: the framework's own model; None where an ONNX file is compiled.
    seed: the seed of the framework's own model.
    description: the description of a command-line compiler.
    """

    alone: ClassVar[bool] = False  # whether no other agent works meanwhile, so that threads may spin while they wait

    batched: bool = False
    precision: str = "fp32"
    graph: str = ORIGINAL
    target: Target = dataclasses.field(default_factory=Target)
    batch: int = 1
    backend: str = ""
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    threads: int = dataclasses.field(default_factory=processors)
    input_ports: Tuple[Port, ...] = dataclasses.field(default=(), metadata={KEY: "inputs"})
    output_ports: Tuple[Port, ...] = dataclasses.field(default=(), metadata={KEY: "outputs"})
    binding: Mapping[str, int] = dataclasses.field(default_factory=dict)
    calibration_method: str = "minmax"
    framework: str = ""
    model: Optional[ModelDescription] = None
    seed: int = 0
    description: Optional[Description] = None

    def option(self, name: str, default: str) -> str:
        """The selected value of an option of the tool, or ``default``."""
        return self.options.get(name, default)


@dataclass(frozen=True, eq=False, repr=False)
class CompileCall(CompilerCall):
    """Compile ``model.onnx``, or a framework's own model, whose inputs are one example [1, ...].

    The reply's files are the artefact. Its metadata may say ``effective`` (the precision that was computed in),
    ``integer`` (integer, partly or simulated), ``portable``, ``dynamic``, ``placement``, ``switches``, ``notes`` and
    ``shims``.
    """

    operation = "compile"

    batched: bool = dataclasses.field()
    precision: str = dataclasses.field()
    graph: str = dataclasses.field()
    target: Target = dataclasses.field()

    @property
    def calibration(self) -> Arrays:
        """The calibration inputs by name, [N, ...] over N samples; empty where none are needed."""
        return self._given(CALIBRATION)

    @property
    def example(self) -> List[np.ndarray[Any, Any]]:
        """The inputs of one call, [batch, ...] if ``batched``, else [...]; empty where a file is compiled."""
        return one_sample(self.inputs, self.batched, self.batch)

    @property
    def of_model(self) -> ModelCall:
        """The call for the framework's own model. Raises Malformed for a call that compiles a file."""
        if self.model is None:
            raise Malformed("%s: field 'model' is missing; expected ModelDescription" % self.operation)
        return ModelCall(self.model, self.seed, self.batched).at(self.place)


@dataclass(frozen=True, eq=False, repr=False)
class RunCall(CompilerCall):
    """Run the artefact, whose files have the names from compilation; outputs are ``out0``, ``out1`` ... [N, ...].

    ragged: the number of rows of an output differs from sample to sample.
    once: the inputs are [...] as the model takes them, for a single run (operator cases, a second binding of symbols);
        else they are [N, ...], and each of the N samples is run alone,
        or ``batch`` of them at a time, of which N is a multiple.
    values: descriptions of inputs that are not plain tensors, see :mod:`bench_plugin.agent.packs`.
    """

    operation = "run"

    ragged: bool = False
    once: bool = dataclasses.field(default=False, metadata={KEY: "whole"})
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def inputs(self) -> Dict[str, Any]:
        """Inputs by name: arrays [N, ...], or [...] if ``once``; lists for sequences, None for empty optionals."""
        found: Dict[str, Any] = dict(super().inputs)
        if self.values:
            from bench_plugin.agent import packs

            found.update(packs.read(self.values, self.place.arrays))
        return found


@dataclass(frozen=True, eq=False, repr=False)
class TimeCall(RunCall):
    """Time the artefact while the machine does nothing else: the same method ``run`` gets it, through ``samples``.

    Inputs [N, ...] are run ``batch`` samples at a time, in turn; outputs [sampled * batch, ...] are those of timed
    inferences.

    sampled: of how many of the first inferences the outputs are returned; 0 for all.
    streams: how many inferences are under way at the same time, each in a thread of its own, without a pause.
    blocks: how many blocks of samples follow the warm-up.
    block_seconds: how long a block takes at least.
    block_samples: how many samples a block has at least.
    seconds: what all blocks together may take; shorter ones are the consequence, and said.
    warmup_seconds: how long the warm-up lasts at most, where the medians of its blocks keep a trend.
    power_seconds: how long the windows of power last, base, full and idle, on a machine with a meter; 0 for none.
    meter: the file of the board's own power meter; empty where its description names none.
    sensors: whether sensors are read meanwhile and outputs made again, which costs a process and a tenth of a second.
    scenario: a scenario of MLPerf that LoadGen drives instead of the blocks: single-stream, multi-stream, offline or
        server; empty for blocks.
    scenario_seconds: how long that takes at least.
    scenario_null: whether its queries are answered without an inference, for the cost of LoadGen itself.
    scenario_rate: of server, the queries per second; 0 for half of what single calls give.
    scenario_bound: of server, the bound of its latency in seconds; 0 for ten times a single call.
    """

    operation = "time"
    alone: ClassVar[bool] = True

    sampled: int = 0
    streams: int = 1
    blocks: int = 10
    block_seconds: float = 0.1
    block_samples: int = 30
    seconds: float = 60.0
    warmup_seconds: float = 5.0
    power_seconds: float = 0.0
    meter: str = ""
    sensors: bool = True
    scenario: str = ""
    scenario_seconds: float = 2.0
    scenario_null: bool = False
    scenario_rate: float = 0.0
    scenario_bound: float = 0.0

    def prepare(self) -> None:
        """Record the power of the machine before the model is loaded, where windows of power are asked for."""
        if self.power_seconds:
            from bench_plugin.agent.telemetry.recording import resting

            self.place.before = resting("base", self.power_seconds, self.meter)


@dataclass(frozen=True, eq=False, repr=False)
class RebuildCall(CompilerCall):
    """Read back what the tool quantised, from the artefact alone, as layers that can be evaluated in float64.

    The reply describes the layers (:class:`RebuildReply`). Its files are the same artefact with every tensor that the
    reply names as a further output, under the same names: ``run`` gives ``out0``, ``out1`` ... for it too. Raises
    Unsupported where nothing can be read back.

    fused_sums: whether to make no outputs of what is added to something. A tool that adds in place, or that computes a
        layer together with the sum behind it, would run another way. The layers then go from one output to the next,
        and the reply says how many tensors are ``inside``; an adapter whose tool does no such thing has none.
    """

    operation = "rebuild"

    fused_sums: bool = False
