"""Published needs and measurements: the tables of docs/published as demands and as measured figures."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from bench_plugin.characterise.prediction.predict import Demand
from bench_plugin.characterise.prediction.scores import Basis
from bench_plugin.domain.errors import UsageError

TOPOLOGIES, MEASUREMENTS = "qutibench_topologies.csv", "qutibench_level3.csv"
# The files of targets (boards/targets) of the platforms, by the names of the table of measurements.
TARGETS = {
    "TX2": "jetson-tx2", "NCS": "movidius-ncs2", "TPU": "coral", "U96-A53": "ultra96-a53",
    "Ultra96-DPU": "ultra96-dpu", "ZCU102-DPU": "zcu102-dpu", "ZCU104-DPU": "zcu104-dpu",
    "ZCU104-FINN": "zcu104-finn", "ZCU104-BISMO": "zcu104-bismo",
}  # fmt: skip
# What the topologies are for: the task is that of their data set.
TASKS = {
    "MLP": "MNIST", "CNV": "CIFAR-10", "ResNet50": "ImageNet", "GoogLeNetv1": "ImageNet", "MobileNetv1": "ImageNet",
}  # fmt: skip
PRUNED = ("MLP", "CNV", "ResNet50")  # topologies of which variants with fewer channels were measured
THREADS = "DPU"  # what these platforms vary are threads of single inputs, where the others vary the batch


@dataclass(frozen=True)
class Published:
    """A published figure, inputs per second, of a topology on a platform. ``line`` is that of the source."""

    model: str
    precision: str
    target: str
    mode: str
    batch: int
    threads: int
    task: str
    basis: Basis
    inputs_per_s: float
    table: str
    line: int


def demands(path: Path) -> dict[str, Demand]:
    """The published totals of operations and weights by topology, the most exact that the tables give.

    Raises UsageError for a file that is not such a table.
    """
    totals = {row["topology"]: totals_of(row) for row in _rows(path)}
    return {
        name: Demand(name, float(mops) * 1e6, float(millions) * 1e6, source="published totals")
        for name, (mops, millions) in totals.items()
    }


def totals_of(row: Mapping[str, str]) -> tuple[str, str]:
    """Millions of operations and of weights as a row prints them.

    Those of ResNet50 are of tables 6.4 and 6.5: for its 80 % variant appendix A implies 6.54 GOP, which contradicts
    the published intensities (table 6.1) and table 6.4, whose 6450 MOP fits.
    """
    if row["topology"].startswith("ResNet50"):
        return row["mops_table_6_4"], row["me_table_6_5"]
    return str(Decimal(row["gops_appendix_a"] or row["gops"]).scaleb(3)), row["model_size_me"]


def measurements(path: Path) -> Iterator[Published]:
    """The published measurements, compute and system apart; empty ones are left out. Raises UsageError likewise."""
    for row in _rows(path):
        target = TARGETS.get(row["platform"])
        if not row["batch_threads_or_stream"]:
            continue  # the batch could not be read
        number = int(float(row["batch_threads_or_stream"]))
        threads = number if row["platform"].endswith(THREADS) else 1
        for basis, column in (("compute", "fps_compute"), ("system", "fps_system")):
            if target is not None and row[column]:
                yield Published(
                    _topology(row), row["precision"].lower(), target, row["mode"], number if threads == 1 else 1,
                    threads, TASKS[row["topology"]], "compute" if basis == "compute" else "system",
                    float(row[column]), row["table"], int(row["line"]),
                )  # fmt: skip


def source_of(path: Path) -> str:
    """What the first line of a table says of its source."""
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _topology(row: Mapping[str, str]) -> str:
    """The name in the table of needs: with the share of the widths that is kept, where that table has one."""
    name = row["topology"]
    return f"{name} {row['kept_percent']}%" if name in PRUNED else name


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table whose first line is a remark. Raises UsageError where it cannot be read."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
