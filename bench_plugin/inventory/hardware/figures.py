"""What is published of hardware: groups of figures in the files of targets, each with its source."""

from __future__ import annotations

from typing import Annotated, Literal

from bench_plugin.domain.records import NOT_BLANK, Record, about

Texts = tuple[str, ...]
Source = Annotated[str, about("the publication or data sheet that says so", pattern=NOT_BLANK)]
Positive = Annotated[float, about("above 0", gt=0)]
Count = Annotated[int, about("above 0", gt=0)]
Datatype = Literal["int1", "int2", "int4", "int8", "int16", "bf16", "fp16", "fp32", "fp64", "float", "any"]
Range = Annotated[tuple[Positive, ...], about("the least and the most", min_length=2, max_length=2)]


class Cores(Record, frozen=True):
    """Cores of one kind, of a processor or of an accelerator."""

    name: Annotated[str, about("such as Cortex-A72 or GPU", pattern=NOT_BLANK)]
    count: Annotated[int, about("how many; 0 where it is not said", ge=0)] = 0
    clock_hz: Annotated[Positive | None, about("their highest clock, Hz")] = None


class Processor(Record, frozen=True):
    """What computes on it."""

    source: Source
    soc: Annotated[str, about("the chip")] = ""
    isa_extensions: Annotated[Texts, about("extensions of the instruction set, such as neon or v")] = ()
    cores: Annotated[tuple[Cores, ...], about("its cores, by kind")] = ()


class Memory(Record, frozen=True):
    """A memory of it."""

    name: Annotated[str, about("such as ram, flash or storage", pattern=NOT_BLANK)]
    source: Source
    bytes: Annotated[Count | None, about("its size, bytes")] = None
    kind: Annotated[str, about("its technology, such as LPDDR4")] = ""
    bandwidth_bytes_per_s: Annotated[Positive | None, about("bytes per second")] = None
    on_chip: Annotated[bool, about("it lies on the chip that computes, where no bus has to be crossed")] = False


class Peak(Record, frozen=True):
    """Its highest figures, in one of its modes."""

    source: Source
    peak_ops_per_s: Annotated[
        dict[Datatype, Positive],
        about("operations per second by datatype; float and any: the source says no more of it"),
    ]
    mode: Annotated[str, about("the mode that they hold in; empty where there is one only")] = ""
    of: Annotated[str, about("the part that reaches them, such as a GPU")] = ""


class Power(Record, frozen=True):
    """What power it takes."""

    source: Source
    tdp_w: Annotated[Positive | None, about("thermal design power, W")] = None
    power_w: Annotated[Positive | Range | None, about("what the source calls its power, W, or [least, most]")] = None


class Price(Record, frozen=True):
    """What it costs."""

    source: Source
    price_usd: Annotated[Positive | Range, about("US dollars, or [least, most]")]


class Software(Record, frozen=True):
    """What runs on it."""

    source: Source
    os: Annotated[Texts, about("operating systems")] = ()
    runtimes: Annotated[Texts, about("runtimes and frameworks that support it")] = ()


# The keys of a target's file that say nothing to a compiler: no part of what adapters get, nor of keys.
FIGURES = ("vendor", "processor", "memories", "peaks", "power", "prices", "software")
