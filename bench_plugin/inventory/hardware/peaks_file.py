"""The file of measured peaks, ``boards/peaks/<board>.toml``: what ``bench board peaks`` writes, and predictions use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from bench_plugin.domain.records import NOT_BLANK, Record, about, read, wrong
from bench_plugin.inventory.hardware.figures import Count, Positive, Texts

FOLDER = "boards/peaks"


class MeasuredPeak(Record, frozen=True):
    """Operations per second of the microkernel of a datatype."""

    datatype: Annotated[str, about("such as fp32 or int8", pattern=NOT_BLANK)]
    threads: Annotated[Count, about("threads that computed at the same time")]
    ops_per_s: Annotated[Positive, about("the fastest of the repetitions; 1 multiply-add = 2 operations")]
    median_ops_per_s: Annotated[Positive, about("their median")]
    repetitions: Annotated[Count, about("how often it was measured")]


class MeasuredBandwidth(Record, frozen=True):
    """Bytes per second of a stream through memory."""

    kernel: Annotated[str, about("read, copy or triad", pattern=NOT_BLANK)]
    threads: Annotated[Count, about("threads that moved bytes at the same time")]
    bytes_per_s: Annotated[Positive, about("the fastest of the repetitions; bytes that are read and written count")]
    median_bytes_per_s: Annotated[Positive, about("their median")]
    array_bytes: Annotated[Count, about("the size of each array, which is larger than the caches")]
    repetitions: Annotated[Count, about("how often it was measured")]


class MeasuredPeaks(Record, frozen=True):
    """What was measured on one machine."""

    board: Annotated[str, about("the board, or local for this machine; the name of the file", pattern=NOT_BLANK)]
    measured: Annotated[str, about("the day, as 2026-01-31", pattern=r"^\d{4}-\d\d-\d\d$")]
    compiler: Annotated[str, about("the C compiler of the microkernels")] = ""
    flags: Annotated[Texts, about("its flags")] = ()
    machine: Annotated[str, about("what the machine says of its processor")] = ""
    machine_id: Annotated[str, about("what identifies the machine; figures of another one are not used")] = ""
    architecture: Annotated[str, about("the instruction set")] = ""
    peaks: Annotated[tuple[MeasuredPeak, ...], about("operations per second, by datatype and threads")] = ()
    bandwidths: Annotated[tuple[MeasuredBandwidth, ...], about("bytes per second, by kernel and threads")] = ()


def read_peaks(path: Path) -> MeasuredPeaks:
    """The measured peaks of a file. Raises UsageError, with the file and the line, for one that is not valid."""
    found = read(path, MeasuredPeaks)
    if found.board != path.stem:
        raise wrong(path, path.read_text("utf-8"), ("board",), f"it must be the name of the file, {path.stem!r}")
    return found


def peaks_text(found: MeasuredPeaks) -> str:
    """The text of the file."""
    said = msgspec.structs.asdict(found)
    lines = [
        '# Measured by "bench board peaks"; predictions use it in place of published figures (docs/predictions.md).'
    ]
    lines += [f"{key} = {_toml(value)}" for key, value in said.items() if key not in ("peaks", "bandwidths")]
    for table in ("peaks", "bandwidths"):
        for row in said[table]:
            lines += ["", f"[[{table}]]"]
            lines += [f"{key} = {_toml(value)}" for key, value in msgspec.structs.asdict(row).items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
