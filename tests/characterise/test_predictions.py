"""Predictions against the roofline's formula, against published tables, and where there must be none."""

from __future__ import annotations

import csv
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from bench_plugin.characterise.needs import needs
from bench_plugin.characterise.prediction.datatypes import BITS, CARRIERS, Stored, stored_as
from bench_plugin.characterise.prediction.predict import (
    ASSUMPTIONS,
    AUTOMATIC,
    FITS,
    HALF,
    NO_BANDWIDTH,
    NO_DATATYPE,
    NO_SIZE,
    OFF_CHIP,
    ON_CHIP,
    TOO_LARGE,
    WEIGHTS_OFF,
    Demand,
    intensity,
    predict,
)
from bench_plugin.characterise.prediction.published import TOPOLOGIES, demands, totals_of
from bench_plugin.characterise.prediction.roofs import Figure, TargetMode, modes_of
from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.hardware.target_file import read_target
from tests.characterise.graphs import cnv, mlp

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs/published"
DATATYPES = ("int2", "int4", "int8", "fp16", "fp32")
CNV, MLP = Demand.of("cnv", needs(cnv(), bits=8)), Demand.of("mlp", needs(mlp(), bits=8))
CHIP = TargetMode(
    "chip", peaks={"int8": Figure(4e12, "sheet"), "fp32": Figure(6.7e11, "sheet")}, bandwidth=Figure(2.56e10, "sheet")
)


def exact(stored: str) -> Stored:
    return Stored(stored, BITS[stored], BITS[stored], stored)


def rows(name: str) -> list[dict[str, str]]:
    lines = (PUBLISHED / name).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


@pytest.mark.parametrize("demand", [CNV, MLP], ids=["cnv", "mlp"])
@pytest.mark.parametrize("datatype", ["int8", "fp32"])
@pytest.mark.parametrize("batch", [1, 7])
def test_the_formula_holds_to_the_last_digit(demand: Demand, datatype: str, batch: int) -> None:
    found = predict(demand, CHIP, exact(datatype), batch=batch)
    assert found is not None and CHIP.bandwidth is not None
    operations, weights = Fraction(demand.operations), Fraction(demand.weights)
    compute = Fraction(CHIP.peaks[datatype].value) / operations
    memory = batch * Fraction(CHIP.bandwidth.value) / (weights * BITS[datatype] / 8)
    assert found.inputs_per_s == pytest.approx(float(min(compute, memory)), rel=4e-16)
    assert found.bound == ("compute" if compute <= memory else "memory")
    assert (found.operations, found.bytes) == (demand.operations * batch, float(weights * BITS[datatype] / 8))


def test_the_hand_counted_topologies_are_bound_as_they_are_known_to_be() -> None:
    small, large = predict(MLP, CHIP, exact("int8")), predict(CNV, CHIP, exact("int8"))
    assert small is not None and large is not None
    assert (small.bound, small.inputs_per_s) == ("memory", 2.56e10 / (784 * 2048 + 2 * 2048 * 2048 + 20480))
    assert large.bound == "memory" and large.compute_inputs_per_s == 4e12 / CNV.operations


def test_a_figure_names_its_counts_its_assumption_and_its_sources() -> None:
    found = predict(CNV, CHIP, exact("int8"), batch=4)
    assert found is not None
    said = "operations of convolutions and fully connected layers; weights off chip, activations on chip; batch 4"
    assert found.assumption == f"{said}; weights and activations in 8 bits"
    assert (found.peak_source, found.bandwidth_source, found.basis) == ("sheet", "sheet", "datasheet")
    assert (found.weights, found.upper_bound, found.emulated) == (CNV.weights, False, "")


def rounding(text: str) -> float:
    """Half of the last printed digit that is not a zero of a round number, as a share of the figure."""
    digits = Decimal(text).normalize().as_tuple()
    return 0.5 * 10.0 ** int(digits.exponent) / float(text)


# Operations per byte of the published table, from the published totals: they differ by what is rounded, and no more.
@pytest.mark.parametrize("row", rows(TOPOLOGIES), ids=lambda row: row["topology"])
def test_operational_intensities_are_the_published_ones(row: dict[str, str]) -> None:
    demand = demands(PUBLISHED / TOPOLOGIES).get(row["topology"])
    if demand is None:
        pytest.fail(f"no totals of {row['topology']}")
    totals = sum(map(rounding, totals_of(row)))
    for datatype in DATATYPES:
        allowed = 1.001 * (totals + rounding(row[f"oi_{datatype}"]))
        assert intensity(demand, exact(datatype)) == pytest.approx(float(row[f"oi_{datatype}"]), rel=allowed), datatype


@pytest.mark.parametrize(("demand", "topology"), [(CNV, "CNV 100%"), (MLP, "MLP 100%")], ids=["cnv", "mlp"])
def test_intensities_of_hand_counts_agree_closely(demand: Demand, topology: str) -> None:
    row = next(row for row in rows(TOPOLOGIES) if row["topology"] == topology)
    for datatype in DATATYPES:
        assert intensity(demand, exact(datatype)) == pytest.approx(float(row[f"oi_{datatype}"]), rel=2e-3)


def test_what_a_target_does_not_compute_has_no_prediction() -> None:
    assert predict(CNV, replace(CHIP, peaks={"int4": Figure(1e12, "s")}), exact("int8")) is None
    assert predict(CNV, replace(CHIP, peaks={"fp32": Figure(1e12, "s")}), exact("int8")) is None
    assert predict(CNV, replace(CHIP, peaks={}), exact("fp32")) is None
    assert predict(replace(CNV, operations=0.0), CHIP, exact("fp32")) is None


def test_a_carried_datatype_has_the_peak_of_its_carrier_and_its_own_traffic() -> None:
    four, eight = predict(MLP, CHIP, exact("int4")), predict(MLP, CHIP, exact("int8"))
    assert four is not None and eight is not None and eight.bytes is not None
    assert (four.emulated, eight.emulated) == ("int8", "")
    assert (four.peak, four.bytes) == (eight.peak, eight.bytes / 2)
    assert "int4 is carried in int8" in four.assumption
    half = predict(MLP, CHIP, exact("fp16"))
    assert half is not None and half.emulated == "fp32"


def test_a_carrier_is_wider_and_of_the_same_kind() -> None:
    for datatype, carriers in CARRIERS.items():
        assert all(BITS[one] > BITS[datatype] and (one[:3] == "int") == (datatype[:3] == "int") for one in carriers)


def test_storage_assumptions_are_named_and_differ() -> None:
    weights, tensors = CNV.weights, CNV.tensors
    assert tensors is not None
    found = {name: predict(CNV, CHIP, exact("int8"), name) for name in ASSUMPTIONS}
    figures = {name: one.bytes for name, one in found.items() if one is not None}
    assert figures == {WEIGHTS_OFF: weights, ON_CHIP: None, OFF_CHIP: weights + tensors, AUTOMATIC: weights}
    assert all(one is not None and one.storage == name for name, one in found.items())
    assert found[ON_CHIP].bound == "compute"  # type: ignore[union-attr]
    assert NO_SIZE in found[AUTOMATIC].assumption  # type: ignore[union-attr]


def test_automatic_storage_depends_on_what_fits() -> None:
    alive = CNV.alive
    assert alive is not None
    said = {}
    for size in (1e9, CNV.weights, alive - 1):
        found = predict(CNV, replace(CHIP, on_chip=Figure(size, "s")), exact("int8"), AUTOMATIC)
        assert found is not None
        said[size] = next(text for text in (FITS, HALF, TOO_LARGE) if text in found.assumption)
    assert list(said.values()) == [FITS, HALF, TOO_LARGE]


def test_what_is_not_known_makes_an_upper_bound() -> None:
    without = predict(MLP, replace(CHIP, bandwidth=None), exact("int8"))
    unnamed = predict(MLP, TargetMode("board", peaks={"any": Figure(1e12, "s")}), exact("int8"))
    few = predict(replace(MLP, lower_bound=True), CHIP, exact("int8"))
    assert without is not None and unnamed is not None and few is not None
    assert without.upper_bound and without.bound == "compute" and NO_BANDWIDTH in without.assumption
    assert unnamed.upper_bound and NO_DATATYPE in unnamed.assumption and not unnamed.emulated
    assert few.upper_bound and "not counted" in few.assumption
    recurrent = predict(replace(MLP, uncounted=MLP.operations + 1), CHIP, exact("int8"))
    assert recurrent is not None and recurrent.upper_bound and "--count everything" in recurrent.assumption


# Name, bits of weights and of activations, what is computed in.
PRECISION = [
    ("fp32", 32, 32, "fp32"), ("fp16", 16, 16, "fp16"), ("w8a8", 8, 8, "int8"), ("w8", 8, 32, "fp32"),
    ("w16", 16, 32, "fp32"), ("int8", 8, 8, "int8"), ("int2", 2, 2, "int2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "weights", "activations", "computed"), PRECISION)
def test_precisions_store_and_compute(name: str, weights: int, activations: int, computed: str) -> None:
    assert stored_as(name) == Stored(name, weights, activations, computed)


def test_an_unknown_precision_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="unknown precision 'int3'"):
        stored_as("int3")


# The files of targets by the published names of platforms.
FILES = {
    "Ultra96-DPU": "ultra96-dpu", "ZCU104-DPU": "zcu104-dpu", "ZCU102-DPU": "zcu102-dpu", "ZCU104-FINN": "zcu104-finn",
    "ZCU104-BISMO": "zcu104-bismo", "TX2": "jetson-tx2", "Coral TPU": "coral", "NCS (Myriad X)": "movidius-ncs2",
    "Ultra96 quad Cortex-A53": "ultra96-a53", "Snapdragon SA8155P": "snapdragon-sa8155p",
    "Zynq UltraScale+ FPGA": "zynq-ultrascale", "Jetson AGX": "jetson-agx", "Raspberry Pi 4": "raspberry-pi-4",
    "Movidius NCS2": "movidius-ncs2", "STM32": "stm32-m7", "Kria K26 SOM": "kria-k26", "Jetson Nano": "jetson-nano",
    "Coral": "coral", "NXP i.MX 8M": "imx8m", "VIM3 basic": "vim3", "Orin AGX": "jetson-agx-orin",
    "AURIX 2G TC399": "aurix-tc399", "NG-Ultra": "ng-ultra", "Kalray": "kalray", "Versal": "versal",
    "SiFive Performance P270": "sifive-p270", "GreenWaves GAP9": "gap9",
}  # fmt: skip


@pytest.mark.parametrize("row", rows("platforms_qutibench.csv"), ids=lambda row: f"{row['platform']} {row['mode']}")
def test_targets_have_the_published_peaks_modes_and_bandwidths(row: dict[str, str]) -> None:
    target = FILES[row["platform"]]
    modes = {one.mode: one for one in modes_of(target, read_target(ROOT / f"boards/targets/{target}.toml"))}
    where = modes[row["mode"]]
    published = {name: float(row[f"{name}_tops"]) * 1e12 for name in DATATYPES if row[f"{name}_tops"]}
    assert {name: one.value for name, one in where.peaks.items()} == pytest.approx(published)
    assert all("M. Blott" in one.source for one in where.peaks.values())
    assert where.bandwidth is not None and "M. Blott" in where.bandwidth.source
    assert where.bandwidth.value == pytest.approx(float(row["memory_bandwidth_gbs"]) * 1e9)


UNITS = {"TFLOPS": 1e12, "GFLOPS": 1e9, "TOPS": 1e12, "GOPS": 1e9}


@pytest.mark.parametrize("row", rows("platforms_mlbench.csv"), ids=lambda row: row["board"])
def test_targets_have_the_published_performance_and_price(row: dict[str, str]) -> None:
    said = read_target(ROOT / f"boards/targets/{FILES[row['board']]}.toml")
    words = row["performance"].split()
    figures = [float(a) * UNITS[b] for a, b in pairwise(words) if b in UNITS]
    known = [value for one in said.get("peaks", ()) for value in one["peak_ops_per_s"].values()]
    assert all(any(value == pytest.approx(figure) for value in known) for figure in figures)
    prices = [one["price_usd"] for one in said.get("prices", ())]
    wanted = [float(part) for part in row["price"].removesuffix(" USD").split("-") if part]
    assert [value for one in prices for value in (one if isinstance(one, list) else [one])] == wanted


def test_every_file_of_a_target_says_the_source_of_each_figure() -> None:
    for path in sorted((ROOT / "boards/targets").glob("*.toml")):
        said = read_target(path)
        groups = [*said.get("memories", ()), *said.get("peaks", ()), *said.get("power", ()), *said.get("prices", ())]
        assert all(group["source"].strip() for group in groups), path.name
