"""The tables of the page of times: times and throughput over a sweep, what a deployment costs, and error budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench_plugin.domain.axes import SWEPT, Axis
from bench_plugin.report import timed
from bench_plugin.report.blocks import Table, TableCell
from bench_plugin.report.entries import Entry, heading
from bench_plugin.report.figures import kilobytes
from bench_plugin.report.parts import mark

KEYS = ("compiler", "precision")
TIMES = ("status", "p50", "95 % interval", "first inference", "throughput, closed loop", "ratio to the best")
SPEED_UP = "speed-up against native"
OF_A_SWEEP = ("status", "p50", "throughput, closed loop", "ratio to the best", SPEED_UP)
REST = ("p90", "p99", "system p50", "instructions")
COSTS = ("peak memory, MiB", "memory, MiB", "artefact, kB", "compile", "energy of an inference", "accuracy")
OF_GPU = "GPU memory, MiB"
BUDGET = (
    "clock", "drift", "over launches", "half-width", "to the bare loop", "launches", "single calls", "load before",
    "caps",
)  # fmt: skip
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
MIB = 2**20


@dataclass(frozen=True)
class Tables:
    """The tables of one model's ``entries``. ``qualities`` are the quality rows of the same results."""

    entries: Sequence[Entry]
    titles: Mapping[str, Any]
    qualities: Sequence[Entry] = ()

    def times(self) -> Table:
        """A line per cell that was computed: the fastest compilers first, each with its sweep in order.

        The ratio to the best is among cells at the same point of the sweep. Speed-ups have a column where the framework
        itself was timed.
        """
        best: dict[tuple[str, ...], float] = {}
        for one in self._computed:
            if (right := _right(one)) is not None:
                best[timed.point(one)] = min(right, best.get(timed.point(one), right))
        bases = [one for one in self.entries if timed.is_base(one)]
        ups = {id(one): timed.speed_up(one, bases) for one in self._computed}
        with_native = any(up is not None for up in ups.values())
        rows = [
            (*self._keys(one), *_times(one, best), *([TableCell(_factor(ups[id(one)]))] if with_native else []),
             *_rest(one))
            for one in self._computed
        ]  # fmt: skip
        heads = (*KEYS, *self._swept_heads, *TIMES, *([SPEED_UP] if with_native else []), *REST)
        return Table(heads, tuple(rows), keys=len(KEYS) + len(self._swept))

    def shown(self) -> Table:
        """What a terminal shows of :meth:`times`: of a sweep, which has more columns, only what it is about."""
        times = self.times()
        if not self._swept:
            return times
        wanted = [*range(times.keys), *(times.heads.index(name) for name in OF_A_SWEEP if name in times.heads)]
        rows = tuple(tuple(row[index] for index in wanted) for row in times.rows)
        return Table(tuple(times.heads[index] for index in wanted), rows, keys=times.keys)

    def costs(self) -> Table:
        """Memory, size, compile time, energy and task metric; a line per cell of which one of them is known.

        Memory of a GPU has a column where there is one.
        """
        with_gpu = any(timed.gpu_memory(one) for one in self._computed)
        rows = [
            (*self._keys(one), *map(TableCell, texts), *([TableCell(_mib(timed.gpu_memory(one)))] if with_gpu else []))
            for one in self._computed if any(texts := self._costs(one))
        ]  # fmt: skip
        heads = (*KEYS, *self._swept_heads, *COSTS, *([OF_GPU] if with_gpu else []))
        return Table(heads, tuple(rows), keys=len(KEYS) + len(self._swept))

    def budgets(self) -> Table:
        """The parts of the uncertainty of every time."""
        known = [one for one in self.entries if _timing(one).get("error_budget")]
        rows = [(*self._keys(one), *map(TableCell, _budget(one))) for one in known]
        return Table((*KEYS, *self._swept_heads, *BUDGET), tuple(rows), keys=len(KEYS) + len(self._swept))

    @property
    def in_all(self) -> str:
        """What is unusual and the same in all cells, such as ``batch 8``; empty where there is nothing of that kind."""
        values = {axis: {timed.value_of(one, axis) for one in self._computed} for axis in SWEPT}
        said = [axis_text(axis, next(iter(found))) for axis, found in values.items() if len(found) == 1]
        return ", ".join(text for text in said if text)

    @cached_property
    def _swept(self) -> tuple[Axis, ...]:
        """The axes with more than one value."""
        return tuple(axis for axis in SWEPT if len({timed.value_of(one, axis) for one in self._computed}) > 1)

    @property
    def _swept_heads(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self._swept)

    @cached_property
    def _computed(self) -> list[Entry]:
        computed = [one for one in self.entries if one.key]
        fastest: dict[tuple[str, ...], float] = {}
        for one in computed:
            line = self._line(one)
            fastest[line] = min(timed.latency(one) or float("inf"), fastest.get(line, float("inf")))
        return sorted(computed, key=lambda one: (fastest[self._line(one)], self._line(one), _ordered(one)))

    def _line(self, one: Entry) -> tuple[str, ...]:
        """What a line of a sweep is about: all but the point."""
        return tuple(str(value) for key, value in sorted(one.cell.items()) if key not in _SWEPT_NAMES)

    def _keys(self, one: Entry) -> tuple[TableCell, ...]:
        """The compiler with where its model came from, the precision with graph and target, and the point."""
        name = heading(str(one.cell["compiler"]), self.titles.get("compilers", {}))
        source = "" if one.cell.get("exporter") or one.cell["framework"] == "onnx" else f" of {one.cell['framework']}"
        further = [str(one.cell[axis]) for axis in ("graph", "target") if one.cell.get(axis) not in (None, "", "local")]
        precision = " ".join([str(one.cell.get("precision", "")), *further])
        swept = (TableCell(_shown(one, axis)) for axis in self._swept)
        return TableCell(name + source), TableCell(precision), *swept

    def _costs(self, one: Entry) -> tuple[str, ...]:
        energy, accuracy = timed.energy(one), timed.task_of(one, self.qualities).accuracy
        return (
            _mib(timed.peak_memory(one)), _mib(timed.memory(one)), kilobytes(timed.artefact_bytes(one)),
            seconds(timed.compile_seconds(one)), "" if energy is None else f"{energy.joules:.3g} J ({energy.meter})",
            "" if accuracy is None else f"{accuracy:.2%}",
        )  # fmt: skip


_SWEPT_NAMES = frozenset(axis.name for axis in SWEPT)


def axis_text(axis: Axis, value: str) -> str:
    """A value of a swept axis in words, such as ``batch 8`` or ``2 threads``; empty for the usual one."""
    if value == axis.usual:
        return ""
    return f"{value} {axis.name}" if axis.name in ("threads", "streams") else f"{axis.name} {value}"


def seconds(value: float | None) -> str:
    """A time with three digits in the unit that suits it; empty for None."""
    if value is None:
        return ""
    scale, unit = next((pair for pair in UNITS if abs(value) >= pair[0]), UNITS[-1])
    return f"{value / scale:.3g} {unit}" if value / scale < 1000 else f"{value / scale:.0f} {unit}"


def _times(one: Entry, best: Mapping[tuple[str, ...], float]) -> tuple[TableCell, ...]:
    timing, rate = _timing(one), timed.throughput(one)
    right, least = _right(one), best.get(timed.point(one))
    ratio = f"{right / least:.2f}" if right is not None and least else ""
    return (
        TableCell(f"{one.status} {mark(one)}".strip(), one.shown, one.reason), TableCell(seconds(timed.latency(one))),
        TableCell(_interval(timing)), TableCell(seconds(timing.get("first_inference"))),
        TableCell("" if rate is None else f"{rate:.3g}/s"), TableCell(ratio),
    )  # fmt: skip


def _rest(one: Entry) -> tuple[TableCell, ...]:
    shares = _timing(one).get("percentiles") or {}
    instructions = (_timing(one).get("instructions") or {}).get("median")
    counted = "" if instructions is None else f"{instructions:,.0f}"
    texts = (seconds(shares.get("p90")), seconds(shares.get("p99")), seconds(timed.system(one)), counted)
    return tuple(map(TableCell, texts))


def _interval(timing: Mapping[str, Any]) -> str:
    """Bounds and half-width; what is within one run only says so."""
    interval = timing.get("interval")
    if not interval:
        return ""
    text = f"{seconds(interval['low'])} to {seconds(interval['high'])} (± {interval['half_width']:.1%})"
    return text if interval["kind"] == "over launches" else f"{text}, {interval['kind']}"


def _budget(one: Entry) -> tuple[str, ...]:
    timing = _timing(one)
    budget = timing["error_budget"]
    compute, load = timing.get("compute") or {}, (timing.get("conditions") or {}).get("load_before") or {}
    bare, busy = budget.get("bare_loop_ratio"), load.get("busy")
    return (
        f"{seconds(budget['clock_cost'])} ({budget['clock_share']:.2%})", _share(budget.get("drift")),
        _share(budget.get("spread_over_launches")), _share(budget.get("half_width")),
        "" if bare is None else f"{bare:.3f}", str(timing.get("launches", "")), str(compute.get("samples", "")),
        "" if busy is None else f"{busy:.0%}", "; ".join(timing.get("caps") or ()),
    )  # fmt: skip


def _ordered(one: Entry) -> tuple[Any, ...]:
    """The point of a sweep in the order of its numbers."""
    values: Iterable[tuple[Axis, str]] = ((axis, timed.value_of(one, axis)) for axis in SWEPT)
    return tuple(int(value) if axis.kind is int else value for axis, value in values)


def _shown(one: Entry, axis: Axis) -> str:
    """A point of an axis in a column; threads that nobody chose are those of the run."""
    value = timed.value_of(one, axis)
    if axis.name == "threads" and value == axis.usual:
        return str((_timing(one).get("conditions") or {}).get("threads", "all"))
    return value or "as it is"


def _timing(one: Entry) -> Mapping[str, Any]:
    found: Mapping[str, Any] = one.numbers.get("timing") or {}
    return found


def _right(one: Entry) -> float | None:
    """The latency of a cell whose numbers agree: a wrong result is not the best, however fast."""
    return timed.latency(one) if one.status == "supported" else None


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _mib(size: int | None) -> str:
    return "" if size is None else f"{size / MIB:.1f}"
