"""The roofline's prediction of one model in one precision on one target: inputs per second, and which term binds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bench_plugin.characterise.needs import Needs
from bench_plugin.characterise.prediction.datatypes import Stored, stored_as
from bench_plugin.characterise.prediction.roofs import Figure, TargetMode

Bound = Literal["compute", "memory"]
WEIGHTS_OFF, ON_CHIP, OFF_CHIP, AUTOMATIC = "weights-off-chip", "on-chip", "off-chip", "automatic"
# The storage assumptions by name; the first is the published one.
ASSUMPTIONS = {
    WEIGHTS_OFF: "weights off chip, activations on chip",
    ON_CHIP: "everything on chip, so memory bandwidth does not count",
    OFF_CHIP: "everything off chip, every tensor between layers once",
    AUTOMATIC: "on chip what fits there",
}
FITS = "everything fits on chip, so memory bandwidth does not count"
HALF = "activations fit on chip, weights do not"
TOO_LARGE = "activations do not fit on chip, everything is off chip"
NO_SIZE = "the size of the on-chip memory is not known, so weights are taken as off chip"
NO_BANDWIDTH = "no source gives the memory bandwidth, so this is an upper bound"
OUTWEIGHED = "{:.0f} operations of other kinds outweigh them (--count everything), so this is an upper bound"
NO_DATATYPE = "the source of the peak names no datatype, so this is an upper bound"


@dataclass(frozen=True)
class Demand:
    """What a prediction takes of a model's needs, for one input: operations, and elements of weights and tensors.

    ``tensors`` are those between layers, ``alive`` those that are alive at once; None where only the published totals
    of operations and weights are known. ``counted`` says what was counted, ``source`` who did; ``uncounted`` are
    operations of other kinds.
    """

    model: str
    operations: float
    weights: float
    tensors: float | None = None
    alive: float | None = None
    counted: str = "convolutions and fully connected layers"
    source: str = "the ONNX file"
    lower_bound: bool = False
    uncounted: float = 0.0

    @staticmethod
    def of(model: str, found: Needs, *, everything: bool = False) -> Demand:
        """The demand of a model whose needs were counted with ``bits=8``, so that bytes are elements.

        With ``everything`` the operations of every kind and all constants count, not only convolutions and fully
        connected layers.
        """
        operations = found.operations + (found.other_operations if everything else 0)
        return Demand(
            model, operations / found.batch, found.parameters if everything else found.weights,
            found.memory.tensors / found.batch, found.memory.alive / found.batch,
            "operations of every kind" if everything else "convolutions and fully connected layers",
            lower_bound=found.lower_bound, uncounted=0.0 if everything else found.other_operations / found.batch,
        )  # fmt: skip


@dataclass(frozen=True)
class Prediction:
    """Inputs per second of one run after the other, each of ``batch`` inputs.

    ``operations`` and ``bytes`` are those of one run; ``bytes`` is None where the memory does not count, and
    ``bandwidth`` where no source gives it. ``emulated`` names the wider datatype that the precision runs in.
    ``upper_bound`` says that something is not known that could only make it slower. ``basis`` is where the peak comes
    from.
    """

    model: str
    target: str
    mode: str
    precision: str
    batch: int
    inputs_per_s: float
    bound: Bound
    datatype: str
    emulated: str
    peak: float
    peak_source: str
    basis: str
    bandwidth: float | None
    bandwidth_source: str
    operations: float
    weights: float
    bytes: float | None
    storage: str
    assumption: str
    upper_bound: bool
    compute_inputs_per_s: float
    memory_inputs_per_s: float | None = field(default=None)


def predict(
    demand: Demand, where: TargetMode, precision: str | Stored, storage: str = WEIGHTS_OFF, batch: int = 1
) -> Prediction | None:
    """``min(peak / O, bandwidth / bytes)`` of a run of ``batch`` inputs, times the batch.

    ``O`` are the run's operations, and its weights are read once. ``storage`` is a key of ASSUMPTIONS. None where the
    target does not compute the precision. Raises UsageError for an unknown precision.
    """
    stored = stored_as(precision) if isinstance(precision, str) else precision
    roof = where.roof(stored.computed)
    if roof is None:
        return None
    traffic, assumption = traffic_of(demand, stored, storage, where.on_chip, batch)
    operations = demand.operations * batch
    compute = batch * (roof.peak.value / operations) if operations else None
    memory = batch * (where.bandwidth.value / traffic) if where.bandwidth and traffic else None
    if compute is None:  # nothing to compute is known, so no roof says anything
        return None
    bound: Bound = "memory" if memory is not None and memory < compute else "compute"
    remarks = [f"operations of {demand.counted}"] if "every kind" not in demand.counted else [demand.counted]
    remarks += [assumption, f"batch {batch}", _widths(stored)]
    remarks += [f"{stored.computed} is carried in {roof.carrier}"] if roof.carrier else []
    remarks += [NO_DATATYPE] if roof.unnamed else []
    remarks += [NO_BANDWIDTH] if traffic and not where.bandwidth else []
    remarks += ["some operators are not counted, so this is an upper bound"] if demand.lower_bound else []
    outweighed = demand.uncounted > demand.operations
    remarks += [OUTWEIGHED.format(demand.uncounted)] if outweighed else []
    return Prediction(
        model=demand.model, target=where.target, mode=where.mode, precision=stored.name, batch=batch,
        inputs_per_s=compute if memory is None else min(compute, memory), bound=bound, datatype=stored.computed,
        emulated=roof.carrier, peak=roof.peak.value, peak_source=roof.peak.source, basis=roof.peak.basis,
        bandwidth=where.bandwidth.value if where.bandwidth else None,
        bandwidth_source=where.bandwidth.source if where.bandwidth else "", operations=operations,
        weights=demand.weights, bytes=traffic or None, storage=storage, assumption="; ".join(remarks),
        upper_bound=roof.unnamed or demand.lower_bound or outweighed or bool(traffic and not where.bandwidth),
        compute_inputs_per_s=compute, memory_inputs_per_s=memory,
    )  # fmt: skip


def traffic_of(demand: Demand, stored: Stored, storage: str, on_chip: Figure | None, batch: int) -> tuple[float, str]:
    """The bytes that one run moves to and from the chip, and the assumption in words; 0 bytes: memory does not count.

    A demand without tensors has the traffic of its weights alone under every assumption that needs them.
    """
    weights = demand.weights * stored.weights / 8
    tensors = (demand.tensors or 0.0) * batch * stored.activations / 8
    alive = (demand.alive or 0.0) * batch * stored.activations / 8
    if storage == ON_CHIP:
        return 0.0, ASSUMPTIONS[ON_CHIP]
    if storage == OFF_CHIP:
        return weights + tensors, ASSUMPTIONS[OFF_CHIP]
    if storage == AUTOMATIC and on_chip is None:
        return weights, NO_SIZE
    if storage == AUTOMATIC and on_chip is not None:
        if weights + alive <= on_chip.value:
            return 0.0, FITS
        if alive <= on_chip.value:
            return weights, HALF
        return weights + tensors, TOO_LARGE
    return weights, ASSUMPTIONS[WEIGHTS_OFF]


def intensity(demand: Demand, stored: Stored, storage: str = WEIGHTS_OFF, batch: int = 1) -> float | None:
    """Operations per byte of traffic, which is where a model stands in a roofline; None where memory does not count."""
    traffic, _ = traffic_of(demand, stored, storage, None, batch)
    return demand.operations * batch / traffic if traffic else None


def _widths(stored: Stored) -> str:
    if stored.weights == stored.activations:
        return f"weights and activations in {stored.weights} bits"
    return f"weights in {stored.weights} bits, activations in {stored.activations}"
